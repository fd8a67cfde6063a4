package node

import (
	"context"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
)

// Process is the state of the kubelet's process, as a person would call it.
type Process string

// The states.
const (
	Stopped  Process = "stopped" // the VM is off, or its guest has not booted
	Running  Process = "running"
	Paused   Process = "suspended"   // with its VM
	Hung     Process = "hung"        // although its VM runs
	Crashing Process = "backing-off" // crashed, waiting to be started again
)

// Options say how a Node gets its process.
type Options struct {
	// Spec prepares the kubelet for one boot of the VM: writes its configuration and says how to start it. It is called
	// from the node's goroutine before each start after a power-on or reset, not after a crash.
	Spec func(Machine) (child.Spec, error)
	// Notify is told of every change of the process, and of a Spec that failed (as a Change with Err). It is called from
	// one goroutine at a time and must not call the Node.
	Notify func(child.Change)
	// Links keep the VM's disks visible to its guest; nil: no volumes.
	Links *Links
}

var _ Guest = (*Node)(nil)

// Node is the kubelet of one VM. Make it with [New]; its methods may be called from any goroutine.
type Node struct {
	opts Options

	mu   sync.Mutex
	life Life
	// withheld: links of disks that come do not appear.
	withheld bool
	process  Process
	alive    Process // what process is while there is a pid: Running, Paused or Hung
	pid      int
	count    int // restarts after crashes, since the last boot

	linking string // why links could not be kept, the last time; the node's goroutine's

	wake chan struct{}
	asks chan Ask[func(*boot) error]
	quit context.CancelFunc
	done chan struct{}
}

// New returns a node whose VM is not there yet. End it with [Node.Stop].
func New(opts Options) *Node {
	ctx, quit := context.WithCancel(context.Background())
	n := &Node{opts: opts, process: Stopped, wake: make(chan struct{}, 1), asks: make(chan Ask[func(*boot) error]), quit: quit, done: make(chan struct{})}
	go n.run(ctx)
	return n
}

// Observe tells the node what its VM is like now. It returns at once; the process follows.
func (n *Node) Observe(m Machine) { n.change(func() { n.life.Observe(m) }) }

// Hang stops the guest where it stands, until [Node.Unhang], or until the VM is reset or powered off. It has no effect on
// a guest that does not run, and returns false.
func (n *Node) Hang() (ok bool) {
	n.change(func() { ok = n.life.Hang(n.process) })
	return ok
}

// Unhang lets a hung guest run on. Any other is left alone.
func (n *Node) Unhang() { n.change(n.life.Unhang) }

// Die ends the guest as the loss of its host's power does: the process is killed at once, whatever the vCenter shows, and none
// is started until the VM has booted again or was seen powered off.
func (n *Node) Die() { n.change(n.life.Die) }

// State tells how the process is, its PID (0 when there is none) and how often it was restarted after a crash since the
// VM booted.
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
	notify.Wake(n.wake) // one that is awake looks again before it sleeps
}

// What failed is tried again after a while, and after a longer one the more often it does.
const (
	minRetry = time.Second
	maxRetry = time.Minute
)

// run brings the process in line with the VM, one step at a time.
func (n *Node) run(ctx context.Context) {
	defer close(n.done)
	b := &boot{node: n}
	defer b.end()
	retry := time.NewTimer(0)
	defer retry.Stop()
	failures := 0
	for {
		linked := n.link() // before the process is started that may ask for a disk
		if b.follow() && linked {
			failures = 0
		} else {
			failures++
			retry.Reset(backoff.Backoff{Min: minRetry, Max: maxRetry}.After(failures))
		}
		select {
		case <-n.wake:
		case a := <-n.asks:
			a.Done <- a.Do(b)
		case <-retry.C:
		case <-ctx.Done():
			return
		}
	}
}
