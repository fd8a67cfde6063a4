package node

import (
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
)

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

func (b *boot) start(m Machine) bool {
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
