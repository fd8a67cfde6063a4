package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// podChanged is told of a component as it is now, one change after the other.
func (s *Sandbox) podChanged(c deploy.Change) {
	p := s.pods
	p.mu.Lock()
	was, known := p.now[c.Component]
	if c.State == deploy.Gone {
		delete(p.now, c.Component)
	} else {
		p.now[c.Component] = c
	}
	p.mu.Unlock()
	if !known {
		s.background.run(podWatch, func(ctx context.Context) { s.keepLog(ctx, c.Component) })
	}
	s.components.pod(c)
	if isCCM(c.Component) {
		s.ccmPodChanged(c)
	}
	s.notePod(was, c)
}

// pod keeps the row of a component that is a container of a pod.
func (c *components) pod(is deploy.Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if is.State == deploy.Gone {
		delete(c.list, is.Component)
		c.s.watchCache.DeleteComponent(is.Component)
		return
	}
	row := &api.Component{Name: is.Component, Log: c.s.opts.Dir.Log(is.Component), Restarts: is.Restarts, Since: time.Now()}
	if old := c.list[is.Component]; old != nil {
		row.Since = old.Since
	}
	switch is.State {
	case deploy.Running:
		row.State, row.Since = "running", cmp.Or(is.Started, row.Since)
		if c.frozen[is.Component] {
			row.State = suspended
		}
	case deploy.Exited:
		row.State, row.Message = "backing-off", podText(is)
	default:
		row.State, row.Message = "starting", podText(is)
	}
	c.list[is.Component] = row
	c.tell(*row)
}

// podText says how a component is that does not run.
func podText(c deploy.Change) string {
	words := []string{c.Component}
	if c.State == deploy.Exited {
		words = append(words, fmt.Sprintf("exit status %d", c.ExitCode))
	}
	for _, w := range []string{c.Reason, c.Message} {
		if w != "" && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return strings.Join(words, ": ")
}

// ccmPodChanged keeps what is known of a cloud controller manager.
func (s *Sandbox) ccmPodChanged(c deploy.Change) {
	s.ccms.tell(func() {
		at := slices.IndexFunc(s.ccms.list, func(r *replica) bool { return r.name == c.Component })
		if c.State == deploy.Gone {
			if at >= 0 {
				s.ccms.list = slices.Delete(s.ccms.list, at, at+1)
			}
			return
		}
		if at < 0 {
			s.ccms.list = append(s.ccms.list, &replica{name: c.Component, since: time.Now()})
			at = len(s.ccms.list) - 1
		}
		r := s.ccms.list[at]
		r.healthy, r.exits, r.since = c.Ready, c.Restarts, cmp.Or(c.Started, r.since)
		r.ill = "not ready"
		if c.State != deploy.Running {
			r.ill, r.last = cmp.Or(c.Reason, string(c.State)), podText(c)
		}
	})
	s.components.changed(c.Component)
}

// notePod writes down what a person would notice, as of a process of the sandbox.
func (s *Sandbox) notePod(was, is deploy.Change) {
	e := event.Event{Plane: event.PlaneSandbox, Object: event.Object{Kind: "Component", Name: is.Component}}
	e.Cause = s.components.cause(is.Component)
	switch {
	case is.State == deploy.Running && (was.State != deploy.Running || !was.Started.Equal(is.Started)):
		if was.State == deploy.Running { // another process, and nobody saw the end of the one before
			s.log.Append(event.Event{Plane: e.Plane, Object: e.Object, Cause: e.Cause, Level: event.Error, Kind: "child.exited", Message: is.Component + ": ended"})
		}
		e.Kind, e.Message = "child.started", fmt.Sprintf("%s: started, in pod %s on node %s", is.Component, is.Pod, is.Node)
	case is.State == deploy.Exited && was.State != deploy.Exited:
		e.Level, e.Kind, e.Message = event.Error, "child.exited", podText(is)
	case is.State == deploy.Gone && was.State != deploy.Gone:
		e.Kind, e.Message = "child.stopped", is.Component+": its pod is gone"
	case is.State == deploy.Running && is.Ready && !was.Ready && isCCM(is.Component):
		e.Kind, e.Message = "ccm.healthy", is.Component+": healthy"
	case is.State == deploy.Running && !is.Ready && was.Ready && isCCM(is.Component):
		e.Level, e.Kind, e.Message = event.Warning, "ccm.unhealthy", is.Component+": not ready"
	default:
		return
	}
	s.log.Append(e)
	if e.Kind == "child.started" {
		s.components.settled(is.Component)
	}
}

// settled ends what was named as the cause of what a component does next: it has started, and does the rest by itself.
func (c *components) settled(component string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.because, component)
}

// cause is the event that was named as the cause of what a component does next; 0 when none was.
func (c *components) cause(component string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.because[component]
}
