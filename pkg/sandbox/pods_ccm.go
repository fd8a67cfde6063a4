package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/image"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/components"
)

// deployCCM has the cloud controller manager run in the cluster, and returns when it is ready.
func (s *Sandbox) deployCCM(ctx context.Context) error {
	c := s.opts.CCM.withDefaults()
	if err := s.placeCCM(ctx, c); err != nil {
		return err
	}
	if err := s.config.WatchCredentials(); err != nil {
		return err
	}
	return s.pods.Wait(ctx, s.boot.Detail)
}

// placeCCM applies what a cloud controller manager is made of.
func (s *Sandbox) placeCCM(ctx context.Context, c CCM) error {
	config, err := s.pods.Config()
	if err != nil {
		return err
	}
	s.ccms.tell(func() { s.ccms.runs, s.ccms.elect = c, c.Replicas > 1 })
	if len(c.Manifest) > 0 {
		return s.pods.CCM(ctx, deploy.CCM{Config: config, Manifest: c.Manifest})
	}
	args := append(s.source.Args(), c.Args...)
	return s.pods.CCM(ctx, deploy.CCM{Config: config, Image: s.pods.Image(image.CCM), Args: args, Replicas: c.Replicas})
}

// restartCCMPods ends the cloud controller managers in order and has others take their places.
func (s *Sandbox) restartCCMPods(ctx context.Context) (api.Done, error) {
	seq := s.log.Append(event.Event{
		Plane: event.PlaneSandbox, Kind: "ccm.restart", Object: event.Object{Kind: "Component", Name: ccmComponent},
		Message: "the cloud controller manager is started again, as was asked for",
	})
	for _, r := range s.ccms.all() {
		s.components.Expect(r.name, seq)
		if err := s.pods.Restart(ctx, r.name); err != nil {
			return api.Done{}, notHealthy("%v", err)
		}
	}
	if err := s.pods.Wait(ctx, func(string) {}); err != nil {
		return api.Done{}, notHealthy("%v", err)
	}
	return api.Done{Message: "started again, healthy", Seq: seq}, nil
}

// swapCCMPods has another cloud controller manager run in the cluster.
func (s *Sandbox) swapCCMPods(ctx context.Context, next CCM) (api.Done, error) {
	s.ccms.replacing.Lock()
	defer s.ccms.replacing.Unlock()
	if next.Program.Path != "" {
		return api.Done{}, &api.Error{
			Code: "unsupported", Message: fmt.Sprintf("%s: a program cannot take the place of a pod: the nodes have no image of it", next.name()),
			Try: "vsphere-sandbox up --cluster kind --ccm " + next.Program.Source,
		}
	}
	seq := s.log.Append(event.Event{
		Plane: event.PlaneSandbox, Kind: "ccm.swap", Object: event.Object{Kind: "Component", Name: ccmComponent}, Message: next.name() + " is deployed",
	})
	if err := s.placeCCM(ctx, next); err != nil {
		return api.Done{}, err
	}
	if err := s.pods.Wait(ctx, func(string) {}); err != nil {
		return api.Done{}, notHealthy("%v", err)
	}
	return api.Done{Message: next.name() + " runs, healthy", Seq: seq}, nil
}

// podChanged sets the state of a cloud controller manager that runs as a pod.
func (m *ccms) podChanged(c deploy.Change) {
	m.tell(func() {
		at := slices.IndexFunc(m.list, func(r *replica) bool { return r.name == c.Component })
		if c.State == deploy.Gone {
			if at >= 0 {
				m.list = slices.Delete(m.list, at, at+1)
			}
			return
		}
		if at < 0 {
			m.list = append(m.list, &replica{name: c.Component, since: time.Now()})
			at = len(m.list) - 1
		}
		r := m.list[at]
		r.healthy, r.exits, r.since = c.Ready, c.Restarts, cmp.Or(c.Started, r.since)
		r.ill = "not ready"
		if c.State != deploy.Running {
			r.ill, r.last = cmp.Or(c.Reason, string(c.State)), components.PodText(c)
		}
	})
}
