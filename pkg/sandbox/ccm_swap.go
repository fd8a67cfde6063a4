package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/boot"
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
	if err := s.guarded(); err != nil {
		return api.Done{}, err
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
	if wrong, ok := errors.AsType[*coded.Error](err); ok {
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
	s.ccms.replacing.Lock()
	defer s.ccms.replacing.Unlock()
	if err := s.ccmRuns(); err != nil {
		return api.Done{}, err
	}
	was, elected := s.ccms.running()
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
	back, cancel := context.WithTimeout(context.WithoutCancel(ctx), boot.StepTimeout)
	defer cancel()
	if again := errors.Join(s.putCCM(back, was, elected, failed), s.awaitCCM(back)); again != nil {
		return api.Done{}, errors.Join(err, again)
	}
	return api.Done{}, notHealthy("%s: %v; %s runs again", next.name(), err, was.name())
}

// putCCM ends what runs and starts c.
func (s *Sandbox) putCCM(ctx context.Context, c CCM, elect bool, cause uint64) error {
	s.ccms.setRestartCause(cause)
	old := s.ccms.all()
	err := stopReplicas(ctx, old)
	s.ccms.setRestartCause(0)
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
	if err := s.guarded(); err != nil {
		return err
	}
	if phase := s.boot.Phase(); phase != api.Ready {
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
	if len(s.ccms.all()) == 0 {
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

// configNeedsRestart replaces the cloud controller manager when it has said, in the event cause, that a part of the
// changed vsphere.conf waits for its next start: what an operator does who reads that. It is done once for a change,
// though every Secret with credentials carries the Event.
func (s *Sandbox) configNeedsRestart(cause uint64) {
	s.ccms.mu.Lock()
	wanted := s.ccms.unsettled
	s.ccms.unsettled = false
	s.ccms.mu.Unlock()
	if wanted {
		s.background.Run("ccm restart", func(ctx context.Context) {
			s.replaceCCM(ctx, cause, "the cloud controller manager is started again, for what it does not take up while it runs")
		})
	}
}

// replaceCCM ends the cloud controller managers, which log out, and starts others of the same. It returns the event that
// says so, 0 when there was none to replace.
func (s *Sandbox) replaceCCM(ctx context.Context, cause uint64, why string) uint64 {
	s.ccms.replacing.Lock()
	defer s.ccms.replacing.Unlock()
	old := s.ccms.all()
	if len(old) == 0 || ctx.Err() != nil {
		return 0
	}
	c, elect := s.ccms.running()
	seq := s.log.Append(event.Event{
		Plane: event.PlaneSandbox, Kind: "ccm.restart", Cause: cause,
		Object: event.Object{Kind: "Component", Name: ccmComponent}, Message: why,
	})
	s.ccms.setRestartCause(seq)
	err := stopReplicas(ctx, old)
	s.ccms.setRestartCause(0)
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

// scaleCCM has n cloud controller managers run. From one to several they begin to elect a leader, for which the one is
// started again; the other way round the rest goes on to. It returns when they were started or have ended.
func (s *Sandbox) scaleCCM(ctx context.Context, n int) error {
	if n < 1 || n > maxReplicas {
		return &api.Error{Code: "invalid", Message: "replicas: want 1 to 9 cloud controller managers"}
	}
	s.ccms.replacing.Lock()
	defer s.ccms.replacing.Unlock()
	if s.ccmDeployed() {
		return s.pods.Scale(ctx, n)
	}
	list := s.ccms.all()
	if len(list) == 0 {
		return &api.Error{Code: "unavailable", Message: "the sandbox has no cloud controller manager, or has not started it yet"}
	}
	c, elect := s.ccms.running()
	if n == len(list) {
		return nil
	}
	c.Replicas = n
	seq := s.log.Append(event.Event{
		Plane: event.PlaneSandbox, Kind: "ccm.scaled", Cause: s.ongoing.Of(ccmComponent), Object: event.Object{Kind: "Component", Name: ccmComponent},
		Message: fmt.Sprintf("cloud controller managers: %d, before %d", n, len(list)),
	})
	s.ccms.setRestartCause(seq)
	defer s.ccms.setRestartCause(0)
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

// watchCCMBuilds puts the program at path to work whenever it has been built anew.
func (s *Sandbox) watchCCMBuilds(ctx context.Context, path string) {
	object := event.Object{Kind: "Component", Name: ccmComponent}
	err := ccm.Watch(ctx, path, func(p ccm.Program) {
		next, _ := s.ccms.running()
		if next.Program.Digest == p.Digest {
			return // it is what runs
		}
		var err error
		if next.Program, err = s.keepBuild(p); err != nil {
			s.opts.Logger.Error("cloud controller manager", "path", path, "err", err)
			return // most likely it is being written once more, of which we shall hear
		}
		seq := s.log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "ccm.rebuilt", Object: object, Message: fmt.Sprintf("%s was built anew (%s)", path, shortDigest(p.Digest))})
		if _, err := s.exchangeCCM(ctx, next, seq); err != nil && ctx.Err() == nil {
			s.opts.Logger.Error("cloud controller manager", "path", path, "err", err)
		}
		s.dropBuilds()
	})
	if err != nil {
		s.log.Append(event.Event{Plane: event.PlaneSandbox, Level: event.Warning, Kind: "ccm.watch-ended", Object: object, Message: err.Error()})
	}
}

// keepBuild copies a program whose file is built anew while it runs: it has to start again as it was, and to be there to
// go back to.
func (s *Sandbox) keepBuild(p ccm.Program) (ccm.Program, error) {
	from, err := os.Open(p.Path)
	if err != nil {
		return p, err
	}
	defer from.Close()
	to := filepath.Join(s.buildsDir(), p.Digest[len("sha256:"):][:16])
	if err := os.MkdirAll(s.buildsDir(), 0o700); err != nil {
		return p, err
	}
	f, err := atomicfile.Create(to, 0o700)
	if err != nil {
		return p, err
	}
	defer f.Discard()
	if _, err = io.Copy(f, from); err != nil {
		return p, err
	}
	source, err := ccm.Parse("file:" + f.Name())
	if err != nil {
		return p, err
	}
	copied, err := source.Resolve(context.Background(), ccm.Options{})
	if err == nil && copied.Digest != p.Digest {
		err = fmt.Errorf("%s: changed while it was copied", p.Path)
	}
	if err != nil {
		return p, err
	}
	p.Path = to
	return p, f.Commit()
}

func (s *Sandbox) buildsDir() string { return s.opts.Dir.Path("ccm", "builds") }

// dropBuilds deletes the copies that do not run.
func (s *Sandbox) dropBuilds() {
	runs, _ := s.ccms.running()
	all, err := filepath.Glob(filepath.Join(s.buildsDir(), "*"))
	for _, path := range all {
		if path != runs.Program.Path {
			err = errors.Join(err, os.Remove(path))
		}
	}
	if err != nil {
		s.opts.Logger.Error("cloud controller manager", "err", err)
	}
}

// replicas is how many processes of a component the sandbox keeps: 0 when it has none of that name, or, of a kubelet,
// when its VM is off.
func (s *Sandbox) replicas(component string) int {
	switch {
	case component == ccmComponent:
		return len(s.ccms.all())
	case strings.HasPrefix(component, "node/"):
		if t, err := s.supervised(component); err != nil || !t.alive() {
			return 0
		}
	case s.childOf(component) == nil:
		return 0
	}
	return 1
}

// scale changes how many there are.
func (s *Sandbox) scale(ctx context.Context, component string, replicas int) error {
	switch {
	case s.replicas(component) == replicas:
		return nil
	case component == ccmComponent:
		return s.scaleCCM(ctx, replicas)
	}
	return fmt.Errorf("component %q: cannot be scaled to %d", component, replicas)
}
