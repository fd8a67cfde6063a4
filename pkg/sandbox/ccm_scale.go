package sandbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// scaleCCM has n cloud controller managers run. From one to several they begin to elect a leader, for which the one is
// started again; the other way round the rest goes on to. It returns when they were started or have ended.
func (s *Sandbox) scaleCCM(ctx context.Context, n int) error {
	if n < 1 || n > maxReplicas {
		return &api.Error{Code: "invalid", Message: "replicas: want 1 to 9 cloud controller managers"}
	}
	s.replacing.Lock()
	defer s.replacing.Unlock()
	if s.ccmDeployed() {
		return s.pods.Scale(ctx, n)
	}
	list := s.ccms.all()
	if len(list) == 0 {
		return &api.Error{Code: "unavailable", Message: "the sandbox has no cloud controller manager, or has not started it yet"}
	}
	s.ccms.mu.Lock()
	c, elect := s.ccms.runs, s.ccms.elect
	s.ccms.mu.Unlock()
	if n == len(list) {
		return nil
	}
	c.Replicas = n
	seq := s.log.Append(event.Event{
		Plane: event.PlaneSandbox, Kind: "ccm.scaled", Cause: s.ongoing.Of(ccmComponent), Object: event.Object{Kind: "Component", Name: ccmComponent},
		Message: fmt.Sprintf("cloud controller managers: %d, before %d", n, len(list)),
	})
	s.setRestartCause(seq)
	defer s.setRestartCause(0)
	if n < len(list) {
		err := stopReplicas(ctx, list[n:])
		s.ccms.tell(func() { s.ccms.runs, s.ccms.list = c, s.ccms.list[:n] })
		for _, r := range list[n:] {
			s.components.Forget(r.name)
			err = errors.Join(err, s.proxies.Drop(r.name))
		}
		return err
	}
	if !elect {
		if !s.opts.CCM.None {
			if err := s.grantCCM(ctx, c, true); err != nil {
				return err
			}
		}
		if err := stopReplicas(ctx, list); err != nil {
			return err
		}
		return s.launchCCM(c, true, seq)
	}
	s.ccms.tell(func() { s.ccms.runs = c })
	for i := len(list); i < n; i++ {
		if err := s.launchReplica(replicaName(i), seq); err != nil {
			return err
		}
	}
	return nil
}
