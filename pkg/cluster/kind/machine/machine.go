package machine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

var (
	_ node.Guest   = (*Machine)(nil)
	_ node.Network = (*Machine)(nil)
)

// Machine drives the container of one VM. Create it with [New]. Its methods may be called from any goroutine.
type Machine struct {
	opts Options

	mu      sync.Mutex
	life    node.Life
	existed bool // an observation has shown the VM
	guestUp bool // the guest was up when the VM was last seen powered on
	look    bool // the container must be inspected
	process node.Process
	pid     int
	count   int // restarts after crashes, since the last boot
	cut     cut

	attached attachments

	wake     chan struct{}
	requests chan request
	quit     context.CancelFunc
	done     chan struct{}
}

// New returns a Machine. It does not touch the container until [Machine.Observe] has shown the VM. End it with
// [Machine.Stop].
func New(opts Options) (*Machine, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	ctx, quit := context.WithCancel(context.Background())
	m := &Machine{
		opts: opts, process: node.Stopped, look: true,
		wake: make(chan struct{}, 1), requests: make(chan request), quit: quit, done: make(chan struct{}),
	}
	go m.run(ctx)
	return m, nil
}

// Observe sets the state of the VM. It returns at once; the container follows.
func (m *Machine) Observe(vm node.Machine) {
	m.change(func() {
		m.life.Observe(vm)
		m.existed = m.existed || vm.Exists
		if vm.Power == node.On {
			m.guestUp = vm.GuestUp
		}
	})
}

// Hang pauses the guest until [Machine.Unhang], or until the VM is reset or powered off. It returns false, without
// effect, if the guest does not run.
func (m *Machine) Hang() (ok bool) {
	m.change(func() { ok = m.life.Hang(m.process) })
	return ok
}

// Unhang resumes a hung guest.
func (m *Machine) Unhang() { m.change(m.life.Unhang) }

// Die kills the container as the loss of its host's power does, independent of what the vCenter shows. It starts again
// after the VM has booted again or was seen powered off.
func (m *Machine) Die() { m.change(m.life.Die) }

// State returns the state of the container, its PID as the runtime reports it (0 if it does not run), and the number of
// restarts since the VM booted: of the kubelet after crashes, and of the container after another process stopped it.
func (m *Machine) State() (p node.Process, pid, restarts int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.process, m.pid, m.count
}

// Stop kills the container, detaches its disks, and ends the Machine. With Options.Keep it only ends the Machine. The
// container is not removed. Stop returns when that is done, or with ctx's error.
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

// lookAgain makes the Machine inspect the container now.
func (m *Machine) lookAgain() { m.change(func() { m.look = true }) }

// Failures are retried with a back-off. Without one the container is inspected every maxRetry.
const (
	minRetry = time.Second
	maxRetry = 30 * time.Second
)

func retries() backoff.Backoff { return backoff.Backoff{Min: minRetry, Max: maxRetry} }

// unsure makes the Machine inspect the container when it wakes next.
func (m *Machine) unsure() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.look = true
}

func (m *Machine) run(ctx context.Context) {
	defer close(m.done)
	forget := m.opts.Watch.add(m.opts.Container, m.lookAgain)
	defer forget()
	c := &container{m: m}
	defer c.end(ctx)
	retry := time.NewTimer(0)
	defer retry.Stop()
	failures := 0
	for {
		plugged := m.reconcileDisks(ctx, c) // before the start: the guest may use its disks at once
		switch inLine := c.reconcile(ctx); {
		case ctx.Err() != nil:
			return
		case inLine && plugged && c.wait > 0:
			retry.Reset(c.wait)
		case inLine && plugged:
			failures = 0
			retry.Reset(maxRetry)
		default:
			failures++
			retry.Reset(retries().After(failures))
		}
		select {
		case <-m.wake:
		case a := <-m.requests:
			a.Done <- a.Do(ctx, c)
		case <-retry.C:
			m.unsure()
		case <-ctx.Done():
			return
		}
	}
}

// request is a request to the Machine's goroutine.
type request = node.Request[func(context.Context, *container) error]

// do runs f in the Machine's goroutine and returns its error.
func (m *Machine) do(ctx context.Context, f func(context.Context, *container) error) error {
	return node.Send(ctx, m.requests, m.done, f)
}

// Scripts for the container. Its first process, systemd, restarts a kubelet that has exited.
const (
	killKubelet = `p=$(systemctl show --property=MainPID --value kubelet.service)
[ "${p:-0}" != 0 ] || { echo "no kubelet runs" >&2; exit 1; }
kill -KILL "$p"
while [ -d "/proc/$p" ]; do sleep 0.05; done`
	kubeletRuns = `until systemctl is-active --quiet kubelet.service &&
	[ "$(systemctl show --property=MainPID --value kubelet.service)" != 0 ]; do sleep 0.2; done`
	restartKubelet = `systemctl restart kubelet.service`
)

// Crash kills the kubelet and returns when its process is gone. systemd starts it again after [restart].
func (m *Machine) Crash(ctx context.Context) error {
	return m.do(ctx, func(ctx context.Context, c *container) error {
		if err := c.exec(ctx, killKubelet); err != nil {
			return fmt.Errorf("crash of the kubelet: %w", err)
		}
		c.kubelet.end()
		c.kubelet = c.crashed(ctx)
		return nil
	})
}

// Restart restarts the kubelet and returns when the new one has started.
func (m *Machine) Restart(ctx context.Context) error {
	return m.do(ctx, func(ctx context.Context, c *container) error {
		if err := c.exec(ctx, restartKubelet); err != nil {
			return fmt.Errorf("kubelet: %w", err)
		}
		return nil
	})
}

// exec runs a shell script in the container, or returns node.ErrNoGuest if that does not run.
func (c *container) exec(ctx context.Context, script string) error {
	if !c.runs() || c.paused() {
		return node.ErrNoGuest
	}
	return c.call(ctx, func(ctx context.Context) error { return c.m.shell(ctx, script) })
}

func (m *Machine) shell(ctx context.Context, script string) error {
	var said strings.Builder
	err := m.opts.Runtime.Exec(ctx, m.opts.Container, nil, nil, &said, "sh", "-c", script)
	if coded.Is(err, runtime.ContainerStopped) || coded.Is(err, runtime.ContainerMissing) {
		return fmt.Errorf("%w: %w", node.ErrNoGuest, err)
	}
	return err
}

// crash waits for the restart of a kubelet that was killed.
type crash struct {
	quit context.CancelFunc
	done sync.WaitGroup
}

func (k *crash) end() {
	if k != nil {
		k.quit()
		k.done.Wait()
	}
}

var errKilled = errors.New("its kubelet was killed")

// restart is the time that systemd in kind's nodes waits before it restarts the kubelet.
const restart = time.Second

// crashed reports that the kubelet was killed, and later that the next one has started.
func (c *container) crashed(ctx context.Context) *crash {
	m := c.m
	m.mu.Lock()
	m.process = node.Crashing
	m.count++
	m.mu.Unlock()
	c.notify(child.Exited, c.notified, errKilled)
	m.opts.Notify(child.Change{Name: "node/" + m.opts.Name, State: child.Restarting, PID: c.notified, Backoff: restart})
	k := new(crash)
	ctx, k.quit = context.WithTimeout(ctx, callTimeout)
	pid := c.notified
	k.done.Go(func() {
		_ = m.shell(ctx, kubeletRuns) // a failure shows in the state of the node
		if ctx.Err() != nil {
			return
		}
		a := request{Done: make(chan error, 1), Do: func(context.Context, *container) error {
			if c.kubelet == k {
				c.kubelet = nil
				c.notify(child.Started, pid, nil)
			}
			return nil
		}}
		select {
		case m.requests <- a:
		case <-ctx.Done():
		}
	})
	return k
}
