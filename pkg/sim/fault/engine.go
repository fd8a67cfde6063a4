package fault

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// Options say what an engine works with. Ground and Kinds are mandatory.
type Options struct {
	Ground *Ground
	Kinds  []*Kind
	// Journal gets a line before each change and after it, from which [ReadJournal] tells what was left broken by a
	// process that was killed. Nil: none is kept.
	Journal io.Writer
	// Sealer encrypts what the journal keeps of a target, which may be a password. With a Journal, or to adopt what is left
	// of one, it is mandatory: without it nothing is injected.
	Sealer Sealer
	// Logger gets what is no event. Nil: none.
	Logger *slog.Logger
	// OnChange is called with each lease whenever it changes, in order. It must neither block nor call the engine. Optional.
	OnChange func(Lease)
	// Parallel is how many targets of a lease are changed at once; 0: 16.
	Parallel int
	// Timeout bounds each step on each target; 0: two minutes.
	Timeout time.Duration
	// Retry is how long after a failure a lease is healed again by itself, twice as long after each further one, up to
	// half a minute; 0: one second.
	Retry time.Duration
}

// Engine injects faults and heals them. Make one with [NewEngine]; its methods may be called from any goroutine.
type Engine struct {
	opts    Options
	ground  *Ground
	kinds   []*Kind
	journal journal
	turns   turns

	ctx     context.Context // ends when the engine is closed
	cancel  context.CancelFunc
	stopped context.Context // ends when that begins
	stop    context.CancelFunc
	tasks   sync.WaitGroup // goroutines of the engine's own: runs, expiry, retries

	mu     sync.Mutex
	last   int      // number of the newest lease
	leases []*lease // in order
	closed bool
}

// keep is how many healed leases are remembered.
const keep = 1000

// maxRetry bounds the wait between two tries to heal.
const maxRetry = 30 * time.Second

// NewEngine returns an engine without leases. Close ends it.
func NewEngine(opts Options) *Engine {
	if opts.Parallel <= 0 {
		opts.Parallel = 16
	}
	if opts.Timeout <= 0 {
		opts.Timeout = 2 * time.Minute
	}
	if opts.Retry <= 0 {
		opts.Retry = time.Second
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Ground.Events == nil {
		opts.Ground.Events = event.NewLog(0)
	}
	e := &Engine{opts: opts, ground: opts.Ground, kinds: slices.Clone(opts.Kinds), journal: journal{w: opts.Journal, sealer: opts.Sealer}}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.stopped, e.stop = context.WithCancel(context.Background())
	return e
}

// Kinds are the kinds that it can inject.
func (e *Engine) Kinds() []*Kind { return slices.Clone(e.kinds) }

// Leases lists them, oldest first: those that run, those that could not be healed, and the last thousand that were.
func (e *Engine) Leases() []Lease {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := make([]Lease, len(e.leases))
	for i, l := range e.leases {
		list[i] = l.copy()
	}
	return list
}

// Lease returns the lease of that ID; false when there is none.
func (e *Engine) Lease(id string) (Lease, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, l := range e.leases {
		if l.ID == id {
			return l.copy(), true
		}
	}
	return Lease{}, false
}

// Close heals all, newest first, and ends the engine: nothing is injected any more, and no goroutine is left. What could
// not be healed before ctx ended is its error. Closing again is harmless.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.stop() // what is being applied is given up, and reverted
	_, err := e.HealAll(ctx)
	e.mu.Lock()
	for _, l := range e.leases {
		l.disarm()
	}
	e.mu.Unlock()
	e.cancel()
	e.tasks.Wait()
	return err
}

// spawn runs f in a goroutine of the engine, unless that is closed.
func (e *Engine) spawn(f func(context.Context)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		e.tasks.Go(func() { f(e.ctx) })
	}
}

// changed tells of a change. The caller holds the lock.
func (e *Engine) changed(l *lease) {
	if e.opts.OnChange != nil {
		e.opts.OnChange(l.copy())
	}
}

// set changes a lease and tells of it.
func (e *Engine) set(l *lease, f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
	e.changed(l)
}

// find returns a lease by its ID.
func (e *Engine) find(id string) (*lease, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var ids []string
	for _, l := range e.leases {
		if l.ID == id {
			return l, nil
		}
		if l.State != Healed {
			ids = append(ids, l.ID)
		}
	}
	message := fmt.Sprintf("lease %q: there is none of that ID", id)
	if n, ok := strings.CutPrefix(id, "f"); ok {
		if number, err := strconv.Atoi(n); err == nil && number > 0 && number <= e.last {
			message = fmt.Sprintf("lease %q: healed so long ago that it is forgotten", id)
		}
	}
	if len(ids) > 0 {
		message += "; there is " + strings.Join(ids, ", ")
	}
	return nil, &Refusal{Code: "not-found", Message: message, Try: "vsphere-sandbox fault leases"}
}

// forget drops the oldest healed leases, if they are too many. The caller holds the lock.
func (e *Engine) forget() {
	healed := 0
	for _, l := range e.leases {
		if l.State == Healed {
			healed++
		}
	}
	e.leases = slices.DeleteFunc(e.leases, func(l *lease) bool {
		if l.State != Healed || healed <= keep {
			return false
		}
		healed--
		return true
	})
}

// Find returns the kind of that name; its error names the one that was perhaps meant.
func Find(kinds []*Kind, name string) (*Kind, error) {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		if k.Name == name {
			return k, nil
		}
		names[i] = k.Name
	}
	message := fmt.Sprintf("fault %q: there is none of that name", name)
	if near := nearest.Of(name, names); near != "" {
		message += fmt.Sprintf("; did you mean %q?", near)
	}
	return nil, &Refusal{Code: "not-found", Message: message, Try: "vsphere-sandbox fault list"}
}
