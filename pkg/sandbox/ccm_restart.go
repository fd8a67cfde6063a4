package sandbox

import (
	"context"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// configNeedsRestart replaces the cloud controller manager when it has said, in the event cause, that a part of the
// changed vsphere.conf waits for its next start: what an operator does who reads that. It is done once for a change,
// though every Secret with credentials carries the Event.
func (s *Sandbox) configNeedsRestart(cause uint64) {
	s.mu.Lock()
	wanted := s.unsettled
	s.unsettled = false
	s.mu.Unlock()
	if wanted {
		s.background.Run("ccm restart", func(ctx context.Context) {
			s.replaceCCM(ctx, cause, "the cloud controller manager is started again, for what it does not take up while it runs")
		})
	}
}

// replaceCCM ends the cloud controller managers, which log out, and starts others of the same. It returns the event that
// says so, 0 when there was none to replace.
func (s *Sandbox) replaceCCM(ctx context.Context, cause uint64, why string) uint64 {
	s.replacing.Lock()
	defer s.replacing.Unlock()
	old := s.ccms.all()
	if len(old) == 0 || ctx.Err() != nil {
		return 0
	}
	s.ccms.mu.Lock()
	c, elect := s.ccms.runs, s.ccms.elect
	s.ccms.mu.Unlock()
	seq := s.log.Append(event.Event{
		Plane: event.PlaneSandbox, Kind: "ccm.restart", Cause: cause,
		Object: event.Object{Kind: "Component", Name: ccmComponent}, Message: why,
	})
	s.setRestartCause(seq)
	err := stopReplicas(ctx, old)
	s.setRestartCause(0)
	if err != nil {
		s.opts.Logger.Error("cloud controller manager", "err", err)
	}
	if ctx.Err() != nil {
		return seq // the sandbox is stopping, and so it stays
	}
	if err := s.launchCCM(c, elect, seq); err != nil {
		s.opts.Logger.Error("cloud controller manager", "err", err)
	}
	return seq
}

func (s *Sandbox) setRestartCause(seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restarting = seq
}

// restartCause is the event for which the cloud controller manager is being replaced, 0 when it is not.
func (s *Sandbox) restartCause() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.restarting
}
