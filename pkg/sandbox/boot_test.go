package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// script makes steps that write down what is asked of them.
type script struct{ calls []string }

// step returns one that starts with start and stops with stop; nil does nothing, well.
func (r *script) step(name string, start, stop func(context.Context) error) step {
	note := func(what string, f func(context.Context) error) func(context.Context) error {
		return func(ctx context.Context) error {
			r.calls = append(r.calls, what+" "+name)
			if f == nil {
				return nil
			}
			return f(ctx)
		}
	}
	return step{Name: name, Start: note("start", start), Stop: note("stop", stop)}
}

func (r *script) require(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, r.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// idle returns a sandbox without a directory, for what needs none.
func idle(t *testing.T) *Sandbox {
	t.Helper()
	topology, err := scenarios.Load("single")
	if err != nil {
		t.Fatal(err)
	}
	return New(Options{Name: "test", Topology: topology, Speed: 10, Logger: slog.New(slog.DiscardHandler)})
}

func failing(text string) func(context.Context) error {
	return func(context.Context) error { return errors.New(text) }
}

func until(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func TestBootAndShutdown(t *testing.T) { synctest.Test(t, testBootAndShutdown) } // in which everything takes no time

func testBootAndShutdown(t *testing.T) {
	var r script
	s := idle(t)
	var progress []string
	s.opts.Progress = func(p Progress) {
		progress = append(progress, fmt.Sprintf("%d/%d %s %s %t", p.Step, p.Steps, p.Name, p.Detail, p.Done))
	}
	steps := []step{
		r.step("a", nil, nil),
		r.step("b", func(context.Context) error { s.detail("b's friend"); return nil }, nil),
		r.step("c", nil, nil),
	}
	steps[1].Stop = nil
	begun, err := s.boot(t.Context(), steps)
	if begun != 3 || err != nil {
		t.Errorf("%d begun, %v", begun, err)
	}
	if s.phase != api.Booting {
		t.Errorf("phase %s", s.phase)
	}
	if err := s.shutdown(steps, begun); err != nil {
		t.Error(err)
	}
	if s.phase != api.Stopping {
		t.Errorf("phase %s", s.phase)
	}
	r.require(t, "start a", "start b", "start c", "stop c", "stop a")
	want := []string{
		"1/3 a  false", "1/3 a  true", "2/3 b  false", "2/3 b b's friend false", "2/3 b  true", "3/3 c  false", "3/3 c  true",
		"1/3 c  false", "3/3 a  false",
	}
	if diff := cmp.Diff(want, progress); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	up := event.Event{Plane: event.PlaneSandbox, Level: event.Info, Kind: "boot.step"}
	var wantEvents []event.Event
	for _, name := range []string{"a", "b", "c"} {
		up.Message = name + ": up in 0s"
		wantEvents = append(wantEvents, up)
	}
	requireEvents(t, s.log, 0, wantEvents...)
}

func TestBootFailsHalfWay(t *testing.T) {
	var r script
	s := idle(t)
	steps := []step{r.step("a", nil, failing("a hangs")), r.step("b", nil, nil), r.step("c", failing("boom"), failing("nothing to stop")), r.step("d", nil, nil)}
	begun, err := s.boot(t.Context(), steps)
	if begun != 3 || err == nil || err.Error() != "c: boom" {
		t.Errorf("%d begun, %v", begun, err)
	}
	events, _ := s.log.Read(0, 0)
	if last := events[len(events)-1]; last.Kind != "boot.failed" || last.Level != event.Error || last.Message != "c: boom" {
		t.Errorf("last event %+v", last)
	}
	// What fails to stop keeps nothing else from being stopped.
	err = s.shutdown(steps, begun)
	if err == nil || err.Error() != "stop c: nothing to stop\nstop a: a hangs" {
		t.Errorf("shutdown: %v", err)
	}
	r.require(t, "start a", "start b", "start c", "stop c", "stop b", "stop a")
}

func TestBootIsToldToEnd(t *testing.T) {
	var r script
	s := idle(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	steps := []step{r.step("a", func(ctx context.Context) error { cancel(ErrStopped); return until(ctx) }, nil), r.step("b", nil, nil)}
	begun, err := s.boot(ctx, steps)
	if begun != 1 || !errors.Is(err, ErrStopped) {
		t.Errorf("%d begun, %v", begun, err)
	}
	requireEvents(t, s.log, 0) // it did not fail
	r.require(t, "start a")
}

func TestCrashesEndABoot(t *testing.T) {
	var r script
	s := idle(t)
	steps := []step{r.step("a", func(ctx context.Context) error {
		s.crashed(1, "ccm: exit status 1")
		s.crashed(2, "ccm: exit status 1")
		if ctx.Err() != nil {
			t.Error("the second crash ended the boot")
		}
		s.crashed(3, "ccm: exit status 2: no such flag")
		<-ctx.Done()
		return ctx.Err() // which says nothing of the reason
	}, nil)}
	_, err := s.boot(t.Context(), steps)
	var crash *crashError
	if !errors.As(err, &crash) || err.Error() != "a: ccm: exit status 2: no such flag" {
		t.Errorf("got %v", err)
	}

	s = idle(t)
	s.crashed(3, "before it began") // it has nothing to end, and does not panic
	steps[0] = r.step("a", func(ctx context.Context) error {
		s.setPhase(api.Ready)
		s.crashed(99, "later a child may crash as often as it likes")
		return ctx.Err()
	}, nil)
	if _, err := s.boot(t.Context(), steps); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestStepsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r script
		s := idle(t)
		steps := []step{r.step("slow", until, until)}
		begin := time.Now()
		begun, err := s.boot(t.Context(), steps)
		if err == nil || err.Error() != "slow: not done after 2m0s" || time.Since(begin) != bootTimeout {
			t.Errorf("start: %v after %v", err, time.Since(begin))
		}
		begin = time.Now()
		if err := s.shutdown(steps, begun); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != stopTimeout {
			t.Errorf("stop: %v after %v", err, time.Since(begin))
		}
	})
}

// Every step that leaves something running can stop it, also when it was never begun or failed half-way.
func TestStopOfWhatDidNotStart(t *testing.T) {
	s := newSandbox(t, "single")
	steps := s.steps()
	if err := s.shutdown(steps, len(steps)); err != nil {
		t.Error(err)
	}
}
