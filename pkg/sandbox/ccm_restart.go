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
		s.background.run("ccm restart", func(ctx context.Context) { s.replaceCCM(ctx, cause) })
	}
}

// replaceCCM ends the cloud controller manager, which logs out, and starts another.
func (s *Sandbox) replaceCCM(ctx context.Context, cause uint64) {
	s.replacing.Lock()
	defer s.replacing.Unlock()
	s.mu.Lock()
	ccm := s.ccm
	s.mu.Unlock()
	if ccm == nil || ctx.Err() != nil {
		return
	}
	seq := s.log.Append(event.Event{
		Plane: event.PlaneSandbox, Kind: "ccm.restart", Cause: cause,
		Object:  event.Object{Kind: "Component", Name: ccmComponent},
		Message: "the cloud controller manager is started again, for what it does not take up while it runs",
	})
	s.setRestartCause(seq)
	err := ccm.Stop(ctx)
	s.setRestartCause(0)
	if err != nil {
		s.opts.Logger.Error("cloud controller manager", "err", err)
	}
	if ctx.Err() == nil { // else the sandbox is stopping, and so it stays
		s.launchCCM(seq)
	}
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
