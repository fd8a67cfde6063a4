package fleet

import (
	"errors"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/feed"
)

var errKilled = errors.New("killed")

// snapshot is the state that a guest's next step depends on.
type snapshot struct {
	machine              node.Machine
	next                 node.Next
	cut, crashed, closed bool
	starts               int
}

func (g *Guest) snapshot() snapshot {
	g.mu.Lock()
	defer g.mu.Unlock()
	return snapshot{g.life.VM, g.life.Next(g.boot), g.cut, g.crashed, g.stopped, g.starts}
}

// reconcile brings the guest's machine in the feed in line with its VM.
func (g *Guest) reconcile() {
	g.reconciling.Lock()
	defer g.reconciling.Unlock()
	s := g.snapshot()
	m := s.machine
	if g.up && (s.closed || s.next.End) {
		s.crashed, s.starts = false, 0
		g.end()
	}
	if g.up && g.boot.IsZero() {
		g.boot = m.BootTime // it was unknown before
	}
	if !g.up && !s.closed && s.next.Start {
		g.start(m)
	}
	switch {
	case s.closed || !m.Exists:
		g.sent = feed.Machine{State: feed.Gone}
	case !g.up:
		g.sent.State = feed.Stopped
	default:
		g.setState(s)
	}
	g.sent.ID, g.sent.Cut = g.id, s.cut
	if g.sent.Name != "" || g.sent.State == feed.Gone { // one that never booted is not in the feed
		g.fleet.source.Set(g.sent)
	}
}

// setState sets the state of a guest that is up.
func (g *Guest) setState(s snapshot) {
	process := s.next.State
	switch {
	case process == node.Paused:
		g.sent.State = feed.Suspended
	case process == node.Hung:
		g.sent.State = feed.Hung
	case s.crashed:
		g.sent.State = feed.Stopped
	default:
		g.sent.State = feed.Running
	}
	again := s.starts != g.sent.Starts
	g.sent.Starts = s.starts
	g.mu.Lock()
	g.process = process
	g.mu.Unlock()
	switch {
	case s.crashed && !g.down:
		g.down = true
		g.notify(child.Change{State: child.Exited, Err: errKilled})
	case !s.crashed && (g.down || again):
		g.down = false
		g.notify(child.Change{State: child.Started})
	}
}

func (g *Guest) start(m node.Machine) {
	line, err := g.opts.Boot(m)
	if err != nil {
		if err.Error() != g.failure { // report it once
			g.failure = err.Error()
			g.notify(child.Change{State: child.Exited, Err: err})
		}
		time.AfterFunc(retryAfter, func() { g.fleet.enqueue(g) })
		return
	}
	line.Boot = m.BootTime
	g.failure, g.up, g.down, g.boot, g.sent = "", true, false, m.BootTime, line
	g.notify(child.Change{State: child.Started})
}

// end is the loss of power. It ends a hang, and restarts count from zero in the next boot.
func (g *Guest) end() {
	g.up, g.boot = false, time.Time{}
	g.mu.Lock()
	g.process, g.crashed, g.count, g.starts = node.Stopped, false, 0, 0
	g.life.Unhang()
	g.mu.Unlock()
	g.notify(child.Change{State: child.Stopped})
}

func (g *Guest) notify(c child.Change) {
	if g.opts.Notify == nil {
		return
	}
	g.fleet.mu.Lock()
	c.PID = g.fleet.program.pid
	g.fleet.mu.Unlock()
	g.opts.Notify(c)
}
