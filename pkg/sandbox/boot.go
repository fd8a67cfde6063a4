package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// step is one line of the boot.
type step = ground.Step

// steps is the order of things: what every sandbox begins with, and then the ground's.
func (s *Sandbox) steps() []step {
	all := []step{
		{Name: "event log", Start: s.openEventFile, Stop: s.closeEventFile},
		{Name: "control API", Start: s.serveAPI, Stop: s.closeAPI},
	}
	stock := ground.Steps{
		VCenters:    step{Name: "vCenters", Start: s.startVCenters, Stop: s.stopVCenters},
		Inventory:   step{Name: "inventory watch", Start: s.watchInventory, Stop: s.unwatchInventory},
		Faults:      step{Name: "faults", Start: s.startFaults, Stop: s.faults.Close},
		NodeWatch:   step{Name: "node watch", Start: s.watchNodes, Stop: s.unwatchNodes},
		CloudConfig: step{Name: "cloud config", Start: s.config.Write, Stop: s.config.Stop},
		CCM:         step{Name: "cloud controller manager", Start: s.ccm.Start, Stop: s.ccm.Stop},
		Nodes:       step{Name: "nodes", Start: s.startNodes, Stop: s.stopNodes},
		Initialized: step{Name: "initialization", Start: s.waitInitialized, Patient: true},
		Healthy:     step{Name: "cloud controller manager healthy", Start: s.ccm.Wait, Patient: true},
	}
	if s.opts.CCM.None {
		stock.CCM.Name = "no cloud controller manager"
		stock.Initialized.Name = "nodes ready" // which is all where nothing initializes them
	}
	if s.opts.CSI.Enabled {
		stock.CSI = step{Name: "storage", Start: s.csi.Start, Stop: s.csi.Stop}
		stock.Volumes = step{Name: "volumes", Start: s.waitCSI, Patient: s.opts.CSI.Foreign != nil}
		if s.facts.Pods {
			stock.CSI.Start, stock.Volumes.Start = s.deployCSI, s.waitCSIPods
		}
	}
	all = append(all, s.ground.Steps(stock)...)
	return slices.DeleteFunc(all, func(st step) bool { return st.Start == nil })
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
		s.progress(Progress{Step: n + 1, Steps: len(steps), Name: st.Name})
		err := startStep(ctx, st, s.stepTime())
		if err != nil {
			if crashed := (*crashError)(nil); errors.As(context.Cause(ctx), &crashed) {
				err = crashed
			}
			if ctx.Err() == nil {
				s.log.Append(event.Event{Plane: event.PlaneSandbox, Level: event.Error, Kind: "boot.failed", Message: st.Name + ": " + err.Error()})
			}
			s.opts.Logger.Error("boot", "step", st.Name, "err", err)
			return n + 1, fmt.Errorf("%s: %w", st.Name, err)
		}
		took := time.Since(begin)
		s.log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "boot.step", Message: fmt.Sprintf("%s: up in %s", st.Name, took.Round(time.Millisecond))})
		s.progress(Progress{Step: n + 1, Steps: len(steps), Name: st.Name, Done: true, Took: took})
	}
	return len(steps), nil
}

// startStep starts a step within that time, unless it is patient.
func startStep(ctx context.Context, st step, within time.Duration) error {
	if st.Patient {
		return st.Start(ctx)
	}
	return ground.Within(ctx, within, st.Start)
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
		if st.Stop == nil {
			continue
		}
		s.progress(Progress{Step: begun - n, Steps: begun, Name: st.Name})
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		if err := st.Stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", st.Name, err))
		}
		cancel()
	}
	return errors.Join(append(errs, s.proxies.Close())...)
}
