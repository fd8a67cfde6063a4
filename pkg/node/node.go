package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
)

// Process is the state of the kubelet's process.
type Process string

// The states.
const (
	Stopped  Process = "stopped" // the VM is off, or its guest has not booted
	Running  Process = "running"
	Paused   Process = "suspended"   // with its VM
	Hung     Process = "hung"        // although its VM runs
	Crashing Process = "backing-off" // it crashed, and restarts later
)

// Options configure a Node.
type Options struct {
	// Spec prepares the kubelet for one boot of the VM: it writes its configuration and returns how to start it. It is
	// called from the node's goroutine before each start after a power-on or reset, not after a crash.
	Spec func(VM) (child.Spec, error)
	// Notify is called for every change of the process, and for a Spec that failed (as a Change with Err). It is called
	// from one goroutine at a time and must not call the Node.
	Notify func(child.Change)
	// Links keep the VM's disks visible to its guest; nil: no volumes.
	Links *Links
}

var _ Guest = (*Node)(nil)

// Node is the kubelet of one VM. Create it with [New]. Its methods may be called from any goroutine.
type Node struct {
	opts Options

	mu   sync.Mutex
	life Life
	// withheld is set while new disks get no links.
	withheld bool
	process  Process
	alive    Process // the state while there is a PID: Running, Paused or Hung
	pid      int
	count    int // restarts after crashes, since the last boot

	linking string // the last error of the links; for the node's goroutine

	wake     chan struct{}
	requests chan Request[func(*boot) error]
	quit     context.CancelFunc
	done     chan struct{}
}

// New returns a node whose VM does not exist yet. End it with [Node.Stop].
func New(opts Options) *Node {
	ctx, quit := context.WithCancel(context.Background())
	n := &Node{opts: opts, process: Stopped, wake: make(chan struct{}, 1), requests: make(chan Request[func(*boot) error]), quit: quit, done: make(chan struct{})}
	go n.run(ctx)
	return n
}

// Observe sets the state of the VM. It returns at once; the process follows.
func (n *Node) Observe(m VM) { n.change(func() { n.life.Observe(m) }) }

// Hang stops the process until [Node.Unhang], or until the VM is reset or powered off. It returns false, without effect,
// if the guest does not run.
func (n *Node) Hang() (ok bool) {
	n.change(func() { ok = n.life.Hang(n.process) })
	return ok
}

// Unhang resumes a hung guest.
func (n *Node) Unhang() { n.change(n.life.Unhang) }

// Die kills the process as the loss of its host's power does, independent of what the vCenter shows. It starts again
// after the VM has booted again or was seen powered off.
func (n *Node) Die() { n.change(n.life.Die) }

// State returns the state of the process, its PID (0 if it does not run), and the number of restarts after crashes since
// the VM booted.
func (n *Node) State() (p Process, pid, restarts int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.process, n.pid, n.count
}

// Stop ends the process and the node. It returns when both are gone, or with ctx's error.
func (n *Node) Stop(ctx context.Context) error {
	n.quit()
	select {
	case <-n.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (n *Node) change(f func()) {
	n.mu.Lock()
	f()
	n.mu.Unlock()
	notify.Wake(n.wake) // a running step is followed by another
}

// Failures are retried with a back-off.
const (
	minRetry = time.Second
	maxRetry = time.Minute
)

// run reconciles the process with the VM, one step at a time.
func (n *Node) run(ctx context.Context) {
	defer close(n.done)
	b := &boot{node: n}
	defer b.end()
	retry := time.NewTimer(0)
	defer retry.Stop()
	failures := 0
	for {
		linked := n.link() // before the start: the guest may use its disks at once
		if b.follow() && linked {
			failures = 0
		} else {
			failures++
			retry.Reset(backoff.Backoff{Min: minRetry, Max: maxRetry}.After(failures))
		}
		select {
		case <-n.wake:
		case r := <-n.requests:
			r.Done <- r.Do(b)
		case <-retry.C:
		case <-ctx.Done():
			return
		}
	}
}

// ErrNoGuest is returned if the guest does not run: its VM is off, hangs or is suspended, or has not booted.
var ErrNoGuest = errors.New("its guest does not run")

// Request is a function for the goroutine of a guest.
type Request[F any] struct {
	Do   F
	Done chan error // of capacity 1
}

// Send runs f in the goroutine that reads requests, and returns its error, or [child.ErrStopped] once ended is closed.
func Send[F any](ctx context.Context, requests chan<- Request[F], ended <-chan struct{}, f F) error {
	r := Request[F]{Do: f, Done: make(chan error, 1)}
	select {
	case requests <- r:
	case <-ended:
		return child.ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-r.Done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// do runs f in the node's goroutine.
func (n *Node) do(ctx context.Context, f func(*boot) error) error {
	return Send(ctx, n.requests, n.done, f)
}

// Crash kills the kubelet, which restarts after a while: its VM continues to run. It returns when the process is gone.
func (n *Node) Crash(ctx context.Context) error {
	return n.do(ctx, func(b *boot) error {
		if b.process == nil {
			return ErrNoGuest
		}
		return b.process.Crash()
	})
}

// Restart ends the kubelet properly and starts it again, as its init system does. It returns when the new process has
// started.
func (n *Node) Restart(ctx context.Context) error {
	return n.do(ctx, func(b *boot) error {
		if b.process == nil || b.state != Running {
			return fmt.Errorf("kubelet: %w", ErrNoGuest)
		}
		return b.process.Renew(ctx)
	})
}

// Guest runs as the guest of a VM that is a Kubernetes node: a [Node] is a kubelet in a separate process; others are a
// container of kind, and a node of a light fleet. Its methods may be called from any goroutine.
type Guest interface {
	// Observe sets the state of the VM. It returns at once; the guest follows.
	Observe(VM)
	// State returns the state of the guest, its PID (0 if it has none), and the number of restarts after crashes since the VM
	// booted.
	State() (p Process, pid, restarts int)
	// Stop ends the guest. It returns when nothing of it is left, or with ctx's error.
	Stop(ctx context.Context) error
	// Hang freezes the guest until Unhang, a reset or the loss of power. It returns false if it does not run.
	Hang() bool
	Unhang()
	// Die ends the guest as the loss of its host's power does, until the VM has booted again or was seen powered off.
	Die()
	// Crash kills the kubelet, which restarts automatically. Restart restarts it properly.
	Crash(ctx context.Context) error
	Restart(ctx context.Context) error
	// WithholdLinks hides new disks from the guest, or ends that.
	WithholdLinks(withheld bool)
}

// Network is a Guest whose network can be cut here. The network of other guests is cut elsewhere.
type Network interface {
	// Cut blocks all traffic until Mend: connections are reset or, if silent, packets are dropped. Both are idempotent.
	Cut(silent bool) error
	Restore() error
	IsCut() bool
}

// OS returns the OS image and kernel that a guest reports in its node's info, by the guest ID in the VM's configuration.
// An unsupported guest is reported as a generic Linux.
func OS(guestID string) (image, kernel string) {
	for _, os := range []struct{ prefix, image, kernel string }{
		{"ubuntu", "Ubuntu 24.04.3 LTS", "6.8.0-87-generic"},
		{"debian", "Debian GNU/Linux 12 (bookworm)", "6.1.0-41-amd64"},
		{"vmwarePhoton", "VMware Photon OS/Linux", "6.1.158-1.ph5"},
		{"rhel9", "Red Hat Enterprise Linux 9.6 (Plow)", "5.14.0-570.12.1.el9_6.x86_64"},
		{"rhel", "Red Hat Enterprise Linux 8.10 (Ootpa)", "4.18.0-553.el8_10.x86_64"},
		{"centos", "CentOS Stream 9", "5.14.0-598.el9.x86_64"},
		{"rockylinux", "Rocky Linux 9.6 (Blue Onyx)", "5.14.0-570.12.1.el9_6.x86_64"},
		{"sles", "SUSE Linux Enterprise Server 15 SP7", "6.4.0-150700.53.19-default"},
		{"coreos", "Flatcar Container Linux by Kinvolk 4230.2.3 (Oklo)", "6.6.107-flatcar"},
	} {
		if strings.HasPrefix(guestID, os.prefix) {
			return os.image, os.kernel
		}
	}
	return "Linux", "6.12.0"
}

// boot is one run of the guest, between power-on (or reset) and power-off, with its process once that has been started.
// It belongs to the node's goroutine.
type boot struct {
	node    *Node
	time    time.Time // the VM's boot time of the process
	process *child.Child
	state   Process // the wanted state: Running, or stopped (SIGSTOP) as Paused or Hung
	failure string  // the last error of its preparation
}

// follow reconciles the process with the VM. It returns false if the caller must retry.
func (b *boot) follow() bool {
	n := b.node
	n.mu.Lock()
	m, next := n.life.VM, n.life.Next(b.time)
	n.mu.Unlock()

	if b.process != nil && next.End {
		b.end()
	}
	if b.process != nil && b.time.IsZero() {
		b.time = m.BootTime // it was unknown before
	}
	if b.process == nil {
		return !next.Start || b.start(m)
	}
	return next.State == b.state || b.become(next.State)
}

func (b *boot) start(m VM) bool {
	spec, err := b.node.opts.Spec(m)
	if err != nil {
		if err.Error() != b.failure { // report it once
			b.failure = err.Error()
			b.node.opts.Notify(child.Change{Name: spec.Name, State: child.Exited, Err: err})
		}
		return false
	}
	b.failure = ""
	b.time, b.state = m.BootTime, Running
	b.node.mu.Lock()
	b.node.alive = Running
	b.node.mu.Unlock()
	b.process = child.Start(spec, b.note)
	return true
}

// note updates the node's state from a change of its process and passes the change on.
func (b *boot) note(c child.Change) {
	n := b.node
	n.mu.Lock()
	switch c.State {
	case child.Started:
		n.process, n.pid = n.alive, c.PID
	case child.Restarting:
		n.process, n.pid = Crashing, 0
		n.count++
	default:
		n.process, n.pid = Stopped, 0
	}
	n.mu.Unlock()
	n.opts.Notify(c)
}

// become suspends or resumes the process. After a crash this applies to its next start.
func (b *boot) become(state Process) bool {
	signal := b.process.Suspend
	if state == Running {
		signal = b.process.Resume
	}
	if signal() != nil {
		return false // it just crashed; its supervisor restarts it
	}
	b.state = state
	n := b.node
	n.mu.Lock()
	defer n.mu.Unlock()
	n.alive = state
	if n.pid != 0 {
		n.process = state
	}
	return true
}

// end kills the process, as a loss of power does, and ends a hang.
func (b *boot) end() {
	if b.process == nil {
		return
	}
	_ = b.process.Kill() // it only fails if the process is gone
	b.process, b.time = nil, time.Time{}
	n := b.node
	n.mu.Lock()
	n.process, n.pid, n.count = Stopped, 0, 0
	n.life.Unhang()
	n.mu.Unlock()
}
