package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// step is one line of the boot. start returns when what it brings up can be used; its context ends with the sandbox's
// stop and bounds the start only. stop may be nil, is called in reverse order for every step that was begun, also when
// its start failed half-way, and gets a context that bounds it.
type step struct {
	name  string
	start func(context.Context) error
	stop  func(context.Context) error
	// within is how long the start may take. Default: [bootTimeout].
	within time.Duration
	// patient: the start knows itself when to give up.
	patient bool
	// kubernetes: it is left out of a sandbox that has vCenters only.
	kubernetes bool
	// storage: it is left out of a sandbox that has no volumes.
	storage bool
	// manager: it is left out of a sandbox that only watches a cluster, and has no cloud controller manager there.
	manager bool
}

// steps is the order of things. The control plane comes first because it takes longest and needs nothing of vSphere;
// vCenters are built while it starts.
func (s *Sandbox) steps() []step {
	all := []step{
		{name: "event log", start: s.openEventFile, stop: s.closeEventFile},
		{name: "control API", start: s.serveAPI, stop: s.closeAPI},
		{name: s.base.component(), start: s.base.start, stop: s.base.stop, patient: s.base.patient(), kubernetes: true},
		{name: "vCenters", start: s.startVCenters, stop: s.stopVCenters},
		{name: "inventory watch", start: s.watchInventory, stop: s.unwatchInventory},
		{name: "faults", start: s.startFaults, stop: s.faults.Close},
		{name: "API server", start: s.base.await, patient: s.base.patient(), kubernetes: true},
		{name: "node watch", start: s.watchNodes, stop: s.unwatchNodes, kubernetes: true},
		{name: "cloud config", start: s.writeCloudConfig, stop: s.unwatchCloudConfig, kubernetes: true, manager: true},
		s.ccmStep(),
		s.csiStep(),
		{name: "nodes", start: s.startNodes, stop: s.stopNodes, kubernetes: true},
		s.waitStep(),
		{name: "volumes", start: s.base.waitVolumes, patient: s.opts.CSI.Foreign != nil, kubernetes: true, storage: true},
	}
	if s.base.podded() {
		all = moved(all, "nodes", "cloud config") // what stands for nodes is there before what initializes them
		all = moved(all, "faults", "node watch")  // until its API server serves there is no cluster that anything could be done to
	}
	if s.opts.VCentersOnly {
		all = slices.DeleteFunc(all, func(st step) bool { return st.kubernetes })
	}
	if !s.opts.CSI.Enabled {
		all = slices.DeleteFunc(all, func(st step) bool { return st.storage })
	}
	if s.onlyWatches() {
		all = slices.DeleteFunc(all, func(st step) bool { return st.manager })
	}
	for i := range all {
		all[i].within = s.stepTime()
	}
	return all
}

// moved is the steps with one of them before another.
func moved(all []step, name, before string) []step {
	at := func(name string) int { return slices.IndexFunc(all, func(st step) bool { return st.name == name }) }
	st := all[at(name)]
	all = slices.Delete(all, at(name), at(name)+1)
	return slices.Insert(all, at(before), st)
}

// ccmStep starts the cloud controller manager: as pods of a cluster that has pods, unless it is a program of this machine
// that nobody has made an image of.
func (s *Sandbox) ccmStep() step {
	st := step{name: "cloud controller manager", start: s.startCCM, stop: s.stopCCM, kubernetes: true, manager: true}
	switch {
	case s.opts.CCM.None:
		st.name, st.start = "no cloud controller manager", s.startNoCCM
	case s.ccmDeployed():
		st.start = s.deployCCM
	}
	return st
}

// waitStep waits for all nodes. It does not call them initialized where nobody does that.
func (s *Sandbox) waitStep() step {
	st := step{name: "initialization", start: s.waitCluster, patient: true, kubernetes: true}
	switch {
	case s.opts.Cluster.Theirs != nil: // how its nodes are is its own business
		st.name, st.start, st.manager = "cloud controller manager healthy", s.awaitCCM, true
	case s.opts.CCM.None:
		st.name = "nodes ready"
	}
	return st
}

func (s *Sandbox) ccmDeployed() bool {
	c := s.opts.CCM.withDefaults()
	return s.base.podded() && c.Watch == "" && (c.Program.Path == "" || len(c.Manifest) > 0)
}

// csiStep starts the CSI driver.
func (s *Sandbox) csiStep() step {
	st := step{name: "storage", start: s.csi.Start, stop: s.csi.Stop, kubernetes: true, storage: true}
	if s.base.podded() {
		st.start = s.deployCSI
	}
	return st
}

// boot starts the steps in order. It returns how many were begun, for [Sandbox.shutdown].
func (s *Sandbox) boot(ctx context.Context, steps []step) (begun int, err error) {
	ctx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	s.mu.Lock()
	s.abort = abort
	s.mu.Unlock()
	for n, st := range steps {
		begin := time.Now()
		s.progress(Progress{Step: n + 1, Steps: len(steps), Name: st.name})
		err := st.begin(ctx)
		if err != nil {
			if crashed := (*crashError)(nil); errors.As(context.Cause(ctx), &crashed) {
				err = crashed
			}
			if ctx.Err() == nil {
				s.log.Append(event.Event{Plane: event.PlaneSandbox, Level: event.Error, Kind: "boot.failed", Message: st.name + ": " + err.Error()})
			}
			s.opts.Logger.Error("boot", "step", st.name, "err", err)
			return n + 1, fmt.Errorf("%s: %w", st.name, err)
		}
		took := time.Since(begin)
		s.log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "boot.step", Message: fmt.Sprintf("%s: up in %s", st.name, took.Round(time.Millisecond))})
		s.progress(Progress{Step: n + 1, Steps: len(steps), Name: st.name, Done: true, Took: took})
	}
	return len(steps), nil
}

// begin starts the step within its time.
func (st step) begin(ctx context.Context) error {
	if st.patient {
		return st.start(ctx)
	}
	within := cmp.Or(st.within, bootTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("not done after %s", within))
	defer cancel()
	return st.start(ctx)
}

// crashError says that a child cannot be kept alive.
type crashError struct{ text string }

func (e *crashError) Error() string { return e.text }

// bootCrashes is how often a child may crash in a boot: once is bad luck, and a boot that waits for a child that will
// never live only hides the reason.
const bootCrashes = 3

// crashed ends a boot in which a child has crashed too often. Later a child may crash as often as it likes.
func (s *Sandbox) crashed(times int, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase == api.Booting && times >= bootCrashes && s.abort != nil {
		s.abort(&crashError{text})
	}
}

// shutdown stops the first begun steps in reverse. Nothing that fails keeps the rest from being stopped.
func (s *Sandbox) shutdown(steps []step, begun int) error {
	s.setPhase(api.Stopping)
	var errs []error
	if err := s.faults.End(context.Background()); err != nil {
		errs = append(errs, fmt.Errorf("heal: %w", err))
	}
	for n := begun - 1; n >= 0; n-- {
		st := steps[n]
		if st.stop == nil {
			continue
		}
		s.progress(Progress{Step: begun - n, Steps: begun, Name: st.name})
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		if err := st.stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", st.name, err))
		}
		cancel()
	}
	return errors.Join(errs...)
}
