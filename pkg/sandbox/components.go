package sandbox

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// components keeps the state of every child for status, writes the journal from which a later command cleans up after
// a sandbox that was killed, and turns changes into events.
type components struct {
	s *Sandbox

	mu   sync.Mutex
	list map[string]*api.Component
	// frozen are those that were stopped where they stand: so is what is started in their place.
	frozen map[string]bool
	// because is the event from which the next change of a component comes.
	because map[string]uint64
}

func newComponents(s *Sandbox) *components {
	return &components{s: s, list: map[string]*api.Component{}, frozen: map[string]bool{}, because: map[string]uint64{}}
}

// spec completes the spec of a child: its log, and how it is called.
func (c *components) spec(spec child.Spec) child.Spec {
	spec.Args = append(slices.Clone(c.s.opts.Command), spec.Args...)
	spec.LogPath = c.s.opts.Dir.Log(spec.Name)
	spec.StopGrace = 2 * time.Second
	return spec
}

// notify is given to every child.
func (c *components) notify(ch child.Change) {
	c.note(ch, event.Object{Kind: "Component", Name: ch.Name}, 0)
}

// note records a change of the child that stands for object, made by the event cause (0: by itself).
func (c *components) note(ch child.Change, object event.Object, cause uint64) {
	if seq := c.explained(ch); seq != 0 {
		cause = seq
	}
	e := event.Event{Plane: event.PlaneSandbox, Object: object, Cause: cause}
	why := ""
	if ch.State == child.Exited {
		why = child.ExitText(ch, c.s.opts.Dir.Log(ch.Name))
	}
	c.mu.Lock()
	row := c.list[ch.Name]
	if row == nil {
		row = &api.Component{Name: ch.Name, Log: c.s.opts.Dir.Log(ch.Name)}
		c.list[ch.Name] = row
	}
	row.Since = time.Now()
	switch ch.State {
	case child.Started:
		row.State, row.PID, row.Message = "running", ch.PID, ""
		if c.frozen[ch.Name] {
			row.State = suspended
		}
		e.Kind, e.Message = "child.started", fmt.Sprintf("%s: started, pid %d", ch.Name, ch.PID)
		c.journal(ch)
	case child.Exited:
		row.State, row.PID, row.Message = "backing-off", 0, why
		e.Level, e.Kind, e.Message = event.Error, "child.exited", why
		c.journal(ch)
	case child.Restarting:
		row.Restarts++
		e.Level, e.Kind = event.Warning, "child.restarting"
		e.Message = fmt.Sprintf("%s: starts again in %s", ch.Name, ch.Backoff.Round(time.Millisecond))
	case child.Stopped:
		row.State, row.PID = "stopped", 0
		delete(c.frozen, ch.Name)
		e.Kind, e.Message = "child.stopped", ch.Name+": stopped"
		if ch.Err != nil { // it had to be killed
			e.Level, e.Message = event.Warning, ch.Err.Error()
		}
		c.journal(ch)
	}
	c.tell(*row)
	crashes := row.Restarts + 1
	if ch.PID == 0 {
		crashes = bootCrashes // it could not even be started, and there is no luck in that
	}
	c.mu.Unlock()
	if e.Kind != "" {
		c.leads(ch, c.s.log.Append(e))
	}
	if ch.State == child.Exited {
		c.s.crashed(crashes, e.Message)
	}
}

func (c *components) journal(ch child.Change) {
	if ch.PID == 0 {
		return
	}
	var err error
	if ch.State == child.Started {
		err = c.s.opts.Dir.Journal().Started(ch.Name, ch.PID)
	} else {
		err = c.s.opts.Dir.Journal().Exited(ch.Name, ch.PID)
	}
	if err != nil {
		c.s.opts.Logger.Error("journal", "component", ch.Name, "err", err)
	}
}

// tell tells those who watch what a component is, with all that is known of it. The caller holds the lock: what was so
// before is never told after what is so now.
func (c *components) tell(row api.Component) {
	rows := []api.Component{row}
	c.s.describe(rows)
	c.s.watchCache.SetComponent(rows[0])
}

// changed tells of a component of which something has changed that its supervisor does not know.
func (c *components) changed(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if row := c.list[name]; row != nil {
		c.tell(*row)
	}
}

// all lists the components by name.
func (c *components) all() []api.Component {
	c.mu.Lock()
	defer c.mu.Unlock()
	rows := make([]api.Component, 0, len(c.list))
	for _, name := range slices.Sorted(maps.Keys(c.list)) {
		rows = append(rows, *c.list[name])
	}
	return rows
}
