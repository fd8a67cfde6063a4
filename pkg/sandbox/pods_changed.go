package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/components"
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
		s.background.Run(podWatch, func(ctx context.Context) { s.keepLog(ctx, c.Component) })
	}
	s.components.SetPod(c)
	if isCCM(c.Component) {
		s.ccmPodChanged(c)
	}
	s.notePod(was, c)
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
			r.ill, r.last = cmp.Or(c.Reason, string(c.State)), components.PodText(c)
		}
	})
	s.components.Changed(c.Component)
}

// notePod writes down what a person would notice, as of a process of the sandbox.
func (s *Sandbox) notePod(was, is deploy.Change) {
	e := event.Event{Plane: event.PlaneSandbox, Object: event.Object{Kind: "Component", Name: is.Component}}
	e.Cause = s.components.Cause(is.Component)
	switch {
	case is.State == deploy.Running && (was.State != deploy.Running || !was.Started.Equal(is.Started)):
		if was.State == deploy.Running { // another process, and nobody saw the end of the one before
			s.log.Append(event.Event{Plane: e.Plane, Object: e.Object, Cause: e.Cause, Level: event.Error, Kind: "child.exited", Message: is.Component + ": ended"})
		}
		e.Kind, e.Message = "child.started", fmt.Sprintf("%s: started, in pod %s on node %s", is.Component, is.Pod, is.Node)
	case is.State == deploy.Exited && was.State != deploy.Exited:
		e.Level, e.Kind, e.Message = event.Error, "child.exited", components.PodText(is)
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
		s.components.Settled(is.Component)
	}
}
