package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// swapCCM puts another cloud controller manager into the place of the one that runs: that is ended in order first. It
// returns when the new one is healthy. One that does not become healthy is ended, and the old one is started again.
func (s *Sandbox) swapCCM(ctx context.Context, r api.CCMRequest) (api.Done, error) {
	next, err := requestedCCM(ctx, r)
	if err != nil {
		return api.Done{}, err
	}
	if s.ccmDeployed() {
		if err := s.ccmRuns(); err != nil {
			return api.Done{}, err
		}
		return s.swapCCMPods(ctx, next)
	}
	if s.facts.ReadOnly { // what speaks against one there was not looked for
		return api.Done{}, &api.Error{
			Code: "unsupported", Message: "this sandbox only watches a cluster that is others': no cloud controller manager is started there",
			Try: "vsphere-sandbox down, then up with --ccm",
		}
	}
	if s.opts.CCM.None {
		if err := s.ccmRuns(); err != nil {
			return api.Done{}, err
		}
		if err := s.adoptCCM(ctx); err != nil {
			return api.Done{}, err
		}
	}
	return s.exchangeCCM(ctx, next, 0)
}

// requestedCCM is what a request asks for, once it is clear that it can be run.
func requestedCCM(ctx context.Context, r api.CCMRequest) (CCM, error) {
	if r.Replicas < 0 || r.Replicas > maxReplicas {
		return CCM{}, &api.Error{Code: "invalid", Message: fmt.Sprintf("replicas: %d, want 1 to %d", r.Replicas, maxReplicas)}
	}
	next := CCM{Args: r.Args, Env: r.Env, Replicas: r.Replicas}
	if r.Path == "" {
		return next.withDefaults(), nil
	}
	source, err := ccm.Parse("file:" + r.Path)
	if err == nil {
		next.Program, err = source.Resolve(ctx, ccm.Options{})
	}
	if wrong, ok := errors.AsType[*ccm.Error](err); ok {
		return CCM{}, &api.Error{Code: "invalid", Message: wrong.Error(), Try: wrong.Try}
	} else if err != nil {
		return CCM{}, err
	}
	if r.Source != "" {
		next.Program.Source = r.Source
	}
	if r.Version != "" {
		next.Program.Version = r.Version
	}
	if r.Digest != "" {
		next.Program.Digest = r.Digest
	}
	return next.withDefaults(), nil
}

// exchangeCCM is the swap itself, for the event cause. Replicas of 0 are as many as run.
func (s *Sandbox) exchangeCCM(ctx context.Context, next CCM, cause uint64) (api.Done, error) {
	s.replacing.Lock()
	defer s.replacing.Unlock()
	if err := s.ccmRuns(); err != nil {
		return api.Done{}, err
	}
	s.ccms.mu.Lock()
	was, elected := s.ccms.runs, s.ccms.elect
	s.ccms.mu.Unlock()
	seq := s.log.Append(event.Event{
		Plane: event.PlaneSandbox, Kind: "ccm.swap", Cause: cause, Object: event.Object{Kind: "Component", Name: ccmComponent},
		Message: place(next, was),
	})
	begin := time.Now()
	err := s.putCCM(ctx, next, next.Replicas > 1, seq)
	if err == nil {
		err = s.awaitCCM(ctx)
	}
	if err == nil {
		text := fmt.Sprintf("%s runs, healthy after %s", next.name(), time.Since(begin).Round(10*time.Millisecond))
		done := s.log.Append(event.Event{
			Plane: event.PlaneSandbox, Kind: "ccm.swapped", Cause: seq, Object: event.Object{Kind: "Component", Name: ccmComponent}, Message: text,
		})
		return api.Done{Message: text, Seq: done}, nil
	}
	failed := s.log.Append(event.Event{
		Plane: event.PlaneSandbox, Level: event.Error, Kind: "ccm.swap-failed", Cause: seq, Object: event.Object{Kind: "Component", Name: ccmComponent},
		Message: fmt.Sprintf("%s: %v; back to %s", next.name(), err, was.name()),
	})
	// Whoever asked may have gone; the cluster is not left alone for that.
	back, cancel := context.WithTimeout(context.WithoutCancel(ctx), bootTimeout)
	defer cancel()
	if again := errors.Join(s.putCCM(back, was, elected, failed), s.awaitCCM(back)); again != nil {
		return api.Done{}, errors.Join(err, again)
	}
	return api.Done{}, notHealthy("%s: %v; %s runs again", next.name(), err, was.name())
}

// putCCM ends what runs and starts c.
func (s *Sandbox) putCCM(ctx context.Context, c CCM, elect bool, cause uint64) error {
	s.setRestartCause(cause)
	old := s.ccms.all()
	err := stopReplicas(ctx, old)
	s.setRestartCause(0)
	if err != nil { // it had to be killed, which its event says, and is gone
		s.opts.Logger.Error("cloud controller manager", "err", err)
	}
	for i, r := range old {
		s.components.Forget(r.name) // with its restarts
		if i < c.Replicas {
			continue
		}
		if err := s.proxies.Drop(r.name); err != nil {
			return err
		}
	}
	if !s.opts.CCM.None { // else its rights are those that it was given
		if err := s.grantCCM(ctx, c, elect); err != nil {
			return err
		}
	}
	return s.launchCCM(c, elect, cause)
}

// ccmRuns returns an error when there is no cloud controller manager to change.
func (s *Sandbox) ccmRuns() error {
	s.mu.Lock()
	phase := s.phase
	s.mu.Unlock()
	switch {
	case s.opts.VCentersOnly:
		return api.Conflict("this sandbox has vCenters alone, and no cloud controller manager")
	case phase != api.Ready:
		return &api.Error{Code: "unavailable", Message: "the sandbox is " + string(phase), Try: "vsphere-sandbox wait --for=ready"}
	}
	return nil
}

// cycleCCM ends the cloud controller managers in order and starts them again, and returns when they are healthy.
func (s *Sandbox) cycleCCM(ctx context.Context) (api.Done, error) {
	if err := s.ccmRuns(); err != nil {
		return api.Done{}, err
	}
	if s.ccmDeployed() {
		return s.restartCCMPods(ctx)
	}
	if s.ccmReplicas() == 0 {
		e := api.Conflict("no cloud controller manager runs")
		e.Try = "vsphere-sandbox ccm swap builtin"
		return api.Done{}, e
	}
	seq := s.replaceCCM(ctx, 0, "the cloud controller manager is started again, as was asked for")
	if err := s.awaitCCM(ctx); err != nil {
		return api.Done{}, notHealthy("%v", err)
	}
	return api.Done{Message: "started again, healthy", Seq: seq}, nil
}

func notHealthy(format string, args ...any) *api.Error {
	e := api.Conflict(format, args...)
	e.Try = "vsphere-sandbox logs " + ccmComponent
	return e
}
