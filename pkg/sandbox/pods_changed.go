package sandbox

import (
	"context"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/ccm"
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
	if p, ok := s.ccm.(*ccm.Pods); ok && ccm.IsReplica(c.Component) {
		p.Changed(c)
	}
	s.notePod(was, c)
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
	case is.State == deploy.Running && is.Ready && !was.Ready && ccm.IsReplica(is.Component):
		e.Kind, e.Message = "ccm.healthy", is.Component+": healthy"
	case is.State == deploy.Running && !is.Ready && was.Ready && ccm.IsReplica(is.Component):
		e.Level, e.Kind, e.Message = event.Warning, "ccm.unhealthy", is.Component+": not ready"
	default:
		return
	}
	s.log.Append(e)
	if e.Kind == "child.started" {
		s.components.Settled(is.Component)
	}
}
