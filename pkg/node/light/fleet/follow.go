package fleet

import (
	"errors"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/feed"
)

var errKilled = errors.New("killed")

// seen is what of a guest its next step depends on.
type seen struct {
	machine              node.Machine
	next                 node.Next
	cut, crashed, closed bool
	starts               int
}

func (g *Guest) look() seen {
	g.mu.Lock()
	defer g.mu.Unlock()
	return seen{g.life.VM, g.life.Next(g.boot), g.cut, g.crashed, g.stopped, g.starts}
}

// follow brings the guest's machine in the feed in line with its VM.
func (g *Guest) follow() {
	g.telling.Lock()
	defer g.telling.Unlock()
	s := g.look()
	m := s.machine
	if g.up && (s.closed || s.next.End) {
		s.crashed, s.starts = false, 0
		g.end()
	}
	if g.up && g.boot.IsZero() {
		g.boot = m.BootTime // it was not known before
	}
	if !g.up && !s.closed && s.next.Start {
		g.start(m)
	}
	switch {
	case s.closed || !m.Exists:
		g.line = feed.Machine{State: feed.Gone}
	case !g.up:
		g.line.State = feed.Stopped
	default:
		g.shape(s)
	}
	g.line.ID, g.line.Cut = g.id, s.cut
	if g.line.Name != "" || g.line.State == feed.Gone { // one that never booted has nothing to tell
		g.fleet.source.Set(g.line)
	}
}

// shape says what a guest that is up does.
func (g *Guest) shape(s seen) {
	process := s.next.State
	switch {
	case process == node.Paused:
		g.line.State = feed.Suspended
	case process == node.Hung:
		g.line.State = feed.Hung
	case s.crashed:
		g.line.State = feed.Stopped
	default:
		g.line.State = feed.Running
	}
	again := s.starts != g.line.Starts
	g.line.Starts = s.starts
	g.mu.Lock()
	g.process = process
	g.mu.Unlock()
	switch {
	case s.crashed && !g.down:
		g.down = true
		g.tell(child.Change{State: child.Exited, Err: errKilled})
	case !s.crashed && (g.down || again):
		g.down = false
		g.tell(child.Change{State: child.Started})
	}
}

func (g *Guest) start(m node.Machine) {
	line, err := g.opts.Boot(m)
	if err != nil {
		if err.Error() != g.failure { // the same again is no news
			g.failure = err.Error()
			g.tell(child.Change{State: child.Exited, Err: err})
		}
		time.AfterFunc(retryAfter, func() { g.fleet.look(g) })
		return
	}
	line.Boot = m.BootTime
	g.failure, g.up, g.down, g.boot, g.line = "", true, false, m.BootTime, line
	g.tell(child.Change{State: child.Started})
}

// end is the loss of power. It ends a hang, and restarts count from zero in the next boot.
func (g *Guest) end() {
	g.up, g.boot = false, time.Time{}
	g.mu.Lock()
	g.process, g.crashed, g.count, g.starts = node.Stopped, false, 0, 0
	g.life.Unhang()
	g.mu.Unlock()
	g.tell(child.Change{State: child.Stopped})
}

func (g *Guest) tell(c child.Change) {
	if g.opts.Notify == nil {
		return
	}
	g.fleet.mu.Lock()
	c.PID = g.fleet.program.pid
	g.fleet.mu.Unlock()
	g.opts.Notify(c)
}
