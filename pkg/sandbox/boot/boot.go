// Package boot starts the parts of a sandbox step by step, stops them in reverse order, and reports which step runs.
//
// Floor 3.
package boot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

const (
	// StepTimeout bounds one boot step: a longer one does not end, even on a busy computer.
	StepTimeout = 2 * time.Minute
	// StopTimeout bounds the stop of one step.
	StopTimeout = 5 * time.Second
	// MaxCrashes is how many crashes of one child end a boot. One crash may be bad luck. A boot that waits for a child that
	// never runs hides the reason.
	MaxCrashes = 3
)

// Progress is the step that a boot or a stop has reached.
type Progress struct {
	// Step is the number of the step, from 1, of Steps.
	Step, Steps int
	// Name is what the step starts or stops.
	Name string
	// Detail is what the step waits for; "" for nothing.
	Detail string
	// Done: the step is done, after Took.
	Done bool
	Took time.Duration
}

// Boot is the life of a sandbox from its first step to its last. Set its fields before [Boot.Start]. Its methods may be
// called from any goroutine.
type Boot struct {
	Log    *event.Log
	Logger *slog.Logger
	// Timeout bounds one boot step that is not patient.
	Timeout time.Duration
	// Evidence returns what the components that a failed step waited for reported last, one line each. Each line is logged as
	// an event before "boot.failed". Optional; it is not called for a boot that was stopped.
	Evidence func(err error) []string
	// Report receives each change of the progress; optional. It must not block.
	Report func(Progress)

	mu      sync.Mutex
	phase   api.Phase
	now     Progress
	readyAt time.Time
	abort   context.CancelCauseFunc // ends the boot; nil before it
}

// Phase returns the phase of the sandbox.
func (b *Boot) Phase() api.Phase {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.current()
}

func (b *Boot) current() api.Phase {
	if b.phase == "" {
		return api.Booting
	}
	return b.phase
}

// SetPhase changes the phase.
func (b *Boot) SetPhase(p api.Phase) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.phase = p
	if p == api.Ready {
		b.now, b.readyAt = Progress{}, time.Now()
	}
}

// Failed reports whether the sandbox stops and was never ready.
func (b *Boot) Failed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.phase == api.Stopping && b.readyAt.IsZero()
}

// AddTo sets the phase, the step and the time of readiness of a status.
func (b *Boot) AddTo(st *api.Status) {
	b.mu.Lock()
	defer b.mu.Unlock()
	st.Phase = b.current()
	if st.Step = b.now.Name; st.Step != "" && b.now.Detail != "" {
		st.Step += ": " + b.now.Detail
	}
	if readyAt := b.readyAt; !readyAt.IsZero() {
		st.ReadyAt = &readyAt
	}
}

// SetProgress publishes the progress.
func (b *Boot) SetProgress(p Progress) {
	b.mu.Lock()
	b.now = p
	b.mu.Unlock()
	if b.Report != nil {
		b.Report(p)
	}
}

// Detail publishes what the current step waits for.
func (b *Boot) Detail(text string) {
	b.mu.Lock()
	p := b.now
	b.mu.Unlock()
	p.Detail = text
	b.SetProgress(p)
}

// Start starts the steps in order. It returns how many were begun, for [Boot.Stop].
func (b *Boot) Start(ctx context.Context, steps []ground.Step) (begun int, err error) {
	ctx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	b.mu.Lock()
	b.abort = abort
	b.mu.Unlock()
	for n, st := range steps {
		begin := time.Now()
		b.SetProgress(Progress{Step: n + 1, Steps: len(steps), Name: st.Name})
		if err := b.startStep(ctx, st); err != nil {
			if crashed := (*crashError)(nil); errors.As(context.Cause(ctx), &crashed) {
				err = crashed
			}
			if ctx.Err() == nil {
				b.logEvidence(err)
				b.Log.Append(event.Event{Plane: event.PlaneSandbox, Level: event.Error, Kind: "boot.failed", Message: st.Name + ": " + err.Error()})
			}
			b.Logger.Error("boot", "step", st.Name, "err", err)
			return n + 1, fmt.Errorf("%s: %w", st.Name, err)
		}
		took := time.Since(begin)
		b.Log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "boot.step", Message: fmt.Sprintf("%s: up in %s", st.Name, took.Round(time.Millisecond))})
		b.SetProgress(Progress{Step: n + 1, Steps: len(steps), Name: st.Name, Done: true, Took: took})
	}
	return len(steps), nil
}

func (b *Boot) logEvidence(err error) {
	if b.Evidence == nil {
		return
	}
	for _, line := range b.Evidence(err) {
		b.Log.Append(event.Event{Plane: event.PlaneSandbox, Level: event.Error, Kind: "boot.evidence", Message: line})
	}
}

func (b *Boot) startStep(ctx context.Context, st ground.Step) error {
	if st.NoTimeout {
		return st.Start(ctx)
	}
	return ground.WithTimeout(ctx, b.Timeout, st.Start)
}

// Stop stops the first begun steps in reverse order. A step that fails does not keep the others from being stopped.
func (b *Boot) Stop(steps []ground.Step, begun int) error {
	b.SetPhase(api.Stopping)
	var errs []error
	for n := begun - 1; n >= 0; n-- {
		st := steps[n]
		if st.Stop == nil {
			continue
		}
		b.SetProgress(Progress{Step: begun - n, Steps: begun, Name: st.Name})
		ctx, cancel := context.WithTimeout(context.Background(), StopTimeout)
		if err := st.Stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", st.Name, err))
		}
		cancel()
	}
	return errors.Join(errs...)
}

// Restart stops steps of a sandbox that is ready, in reverse order, calls between, and starts them again. Steps that do not stop in
// time are reported to the logger. After an error the sandbox must be stopped.
func (b *Boot) Restart(ctx context.Context, steps []ground.Step, between func(context.Context) error) error {
	b.SetPhase(api.Booting)
	for n, st := range slices.Backward(steps) {
		if st.Stop == nil {
			continue
		}
		b.SetProgress(Progress{Step: len(steps) - n, Steps: 2 * len(steps), Name: st.Name})
		if err := ground.WithTimeout(context.WithoutCancel(ctx), StopTimeout, st.Stop); err != nil {
			b.Logger.Error("restart", "step", st.Name, "err", err)
		}
	}
	if err := between(ctx); err != nil {
		return err
	}
	if _, err := b.Start(ctx, steps); err != nil {
		return err
	}
	b.SetPhase(api.Ready)
	return nil
}

// crashError is the cause of a boot's end when a child crashes again and again.
type crashError struct{ text string }

func (e *crashError) Error() string { return e.text }

// Crashed ends a boot in which a child has crashed [MaxCrashes] times. Crashes after the boot are ignored.
func (b *Boot) Crashed(times int, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.current() == api.Booting && times >= MaxCrashes && b.abort != nil {
		b.abort(&crashError{text})
	}
}
