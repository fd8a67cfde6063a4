package machine

import (
	"context"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

var (
	_ node.Guest   = (*Machine)(nil)
	_ node.Network = (*Machine)(nil)
)

// Machine is the container of one VM. Make it with [New]; its methods may be called from any goroutine.
type Machine struct {
	opts Options

	mu      sync.Mutex
	life    node.Life
	existed bool // an observation has shown the VM
	guestUp bool // the guest was up when the VM was last seen powered on
	look    bool // somebody may have done something to the container
	process node.Process
	pid     int
	count   int // restarts after crashes, since the last boot
	cut     cut

	plugs plugs

	wake chan struct{}
	asks chan ask
	quit context.CancelFunc
	done chan struct{}
}

// New returns a machine whose VM is not there yet; its container, if there is one, is left alone until it is. End it with
// [Machine.Stop].
func New(opts Options) (*Machine, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	ctx, quit := context.WithCancel(context.Background())
	m := &Machine{
		opts: opts, process: node.Stopped, look: true,
		wake: make(chan struct{}, 1), asks: make(chan ask), quit: quit, done: make(chan struct{}),
	}
	go m.run(ctx)
	return m, nil
}

// Observe tells the machine what its VM is like now. It returns at once; the container follows.
func (m *Machine) Observe(vm node.Machine) {
	m.change(func() {
		m.life.Observe(vm)
		m.existed = m.existed || vm.Exists
		if vm.Power == node.On {
			m.guestUp = vm.GuestUp
		}
	})
}

// Hang stops the guest where it stands, until [Machine.Unhang], or until the VM is reset or powered off. It has no effect on a
// guest that does not run, and returns false.
func (m *Machine) Hang() (ok bool) {
	m.change(func() { ok = m.life.Hang(m.process) })
	return ok
}

// Unhang lets a hung guest run on. Any other is left alone.
func (m *Machine) Unhang() { m.change(m.life.Unhang) }

// Die ends the guest as the loss of its host's power does: the container is killed at once, whatever the vCenter shows, and is
// not started until the VM has booted again or was seen powered off.
func (m *Machine) Die() { m.change(m.life.Die) }

// State tells how the container is, the PID that the runtime tells of it (0 when it does not run), and how often its kubelet was
// restarted after a crash, and it itself after somebody had ended it, since the VM booted.
func (m *Machine) State() (p node.Process, pid, restarts int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.process, m.pid, m.count
}

// Stop ends the container as the loss of power does, takes its disks off, and ends the machine; where Options.Keep says so it
// ends the machine alone. The container is left to whoever deletes the cluster. It returns when that is done, or with ctx's error.
func (m *Machine) Stop(ctx context.Context) error {
	m.quit()
	select {
	case <-m.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *Machine) change(f func()) {
	m.mu.Lock()
	f()
	m.mu.Unlock()
	notify.Wake(m.wake)
}

// lookAgain is called when something may have happened to the container.
func (m *Machine) lookAgain() { m.change(func() { m.look = true }) }

// What failed is tried again after a while, and after a longer one the more often it does. Without that the container is looked
// at every now and then.
const (
	minRetry = time.Second
	maxRetry = 30 * time.Second
)

func retries() backoff.Backoff { return backoff.Backoff{Min: minRetry, Max: maxRetry} }

// unsure has the container be looked at when the machine wakes for whatever else.
func (m *Machine) unsure() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.look = true
}

// run brings the container in line with the VM, one step at a time.
func (m *Machine) run(ctx context.Context) {
	defer close(m.done)
	forget := m.opts.Watch.add(m.opts.Container, m.lookAgain)
	defer forget()
	b := &box{m: m}
	defer b.end(ctx)
	retry := time.NewTimer(0)
	defer retry.Stop()
	failures := 0
	for {
		plugged := m.plugAll(ctx, b) // before the guest is started that may ask for a disk
		switch inLine := b.follow(ctx); {
		case ctx.Err() != nil:
			return
		case inLine && plugged && b.wait > 0:
			retry.Reset(b.wait)
		case inLine && plugged:
			failures = 0
			retry.Reset(maxRetry)
		default:
			failures++
			retry.Reset(retries().After(failures))
		}
		select {
		case <-m.wake:
		case a := <-m.asks:
			a.Done <- a.Do(ctx, b)
		case <-retry.C:
			m.unsure()
		case <-ctx.Done():
			return
		}
	}
}
