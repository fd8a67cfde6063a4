package child

import (
	"context"
	"errors"
	"sync"
)

// ErrStopped is returned for what cannot be done to a child that is stopped.
var ErrStopped = errors.New("child is stopped")

// ErrNotRunning is returned for what needs a process that there is not: it is
// waiting to be started again.
var ErrNotRunning = errors.New("no process is running")

// Child is one supervised process. It is made by [Start]; its methods may be
// called from any goroutine, except that a notify function must not call those
// that wait: Stop, Kill, Restart, Renew and Crash.
type Child struct {
	spec   Spec
	notify func(Change)
	first  bool // no process has been started yet; supervisor only

	asks     chan *restartRequest // Restart, Renew → supervisor
	stopping chan struct{}        // closed by the first Stop or Kill
	killing  chan struct{}        // closed to end the grace period
	done     chan struct{}        // closed when the supervisor has ended
	stopOnce sync.Once
	killOnce sync.Once
	stopErr  error // valid once done is closed

	mu        sync.Mutex
	state     State
	process   *process // the running one, or nil
	restarts  int
	suspended bool // wanted by Suspend, also for processes still to be started
}

// Start begins to run and watch the child of spec and returns at once; a
// failure to start it is a Change like any other, and is tried again.
//
// Notify, when not nil, is called with every Change, in order, from the
// goroutine that supervises the child: while it runs the child is not watched,
// so it should be quick. It is not called any more once Stop, Kill or a receive
// from Done has returned. The caller ends the child with Stop or Kill.
func Start(spec Spec, notify func(Change)) *Child {
	c := &Child{
		spec:     spec.withDefaults(),
		notify:   notify,
		first:    true,
		asks:     make(chan *restartRequest),
		stopping: make(chan struct{}),
		killing:  make(chan struct{}),
		done:     make(chan struct{}),
		state:    Starting,
	}
	spawn.acquire()
	go c.supervise()
	return c
}

// Name returns the name of the child's Spec.
func (c *Child) Name() string { return c.spec.Name }

// PID returns the id of the running process, or 0.
func (c *Child) PID() int {
	c.mu.Lock()
	p := c.process
	c.mu.Unlock()
	if p == nil {
		return 0
	}
	return p.livePID()
}

// Ending says that the running process is being ended as it was asked for, by
// Stop, Kill, Restart or Renew: what it does not answer any more is no fault.
func (c *Child) Ending() bool {
	c.mu.Lock()
	p := c.process
	c.mu.Unlock()
	return p != nil && p.ending.Load()
}

// State returns the state the child entered last.
func (c *Child) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// Restarts returns how many processes were started after the first one.
func (c *Child) Restarts() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.restarts
}

// Done returns a channel that is closed when the child is stopped and its last Change was reported: after Stop or Kill,
// or when a Once child ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// emit enters the state of change and reports it.
func (c *Child) emit(change Change) {
	change.Name = c.spec.Name
	c.mu.Lock()
	c.state = change.State
	c.mu.Unlock()
	if c.notify != nil {
		c.notify(change)
	}
}

// StopAll stops children at once, and returns when all have ended. Children that are nil were not started.
func StopAll(ctx context.Context, all ...*Child) error {
	var wg sync.WaitGroup
	errs := make([]error, len(all))
	for i, c := range all {
		if c != nil {
			wg.Go(func() { errs[i] = c.Stop(ctx) })
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}
