package boot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// script makes steps that record their calls.
type script struct{ calls []string }

// step returns a step; a nil function returns nil.
func (r *script) step(name string, start, stop func(context.Context) error) ground.Step {
	note := func(what string, f func(context.Context) error) func(context.Context) error {
		return func(ctx context.Context) error {
			r.calls = append(r.calls, what+" "+name)
			if f == nil {
				return nil
			}
			return f(ctx)
		}
	}
	return ground.Step{Name: name, Start: note("start", start), Stop: note("stop", stop)}
}

func (r *script) require(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, r.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// idle returns a boot that has not begun.
func idle() *Boot {
	return &Boot{Log: event.NewLog(0), Logger: slog.New(slog.DiscardHandler), Timeout: StepTimeout}
}

// requireEvents compares the events of a log, but for numbers and times.
func requireEvents(t *testing.T, log *event.Log, want ...event.Event) {
	t.Helper()
	got, _ := log.Read(0, 0)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(event.Event{}, "Seq", "Time"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func failing(text string) func(context.Context) error {
	return func(context.Context) error { return errors.New(text) }
}

var errStopped = errors.New("stopped")

func until(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func TestBootAndShutdown(t *testing.T) { synctest.Test(t, testBootAndShutdown) }

func testBootAndShutdown(t *testing.T) {
	var r script
	b := idle()
	var progress []string
	b.Report = func(p Progress) {
		progress = append(progress, fmt.Sprintf("%d/%d %s %s %t", p.Step, p.Steps, p.Name, p.Detail, p.Done))
	}
	steps := []ground.Step{
		r.step("a", nil, nil),
		r.step("b", func(context.Context) error { b.Detail("b's friend"); return nil }, nil),
		r.step("c", nil, nil),
	}
	steps[1].Stop = nil
	begun, err := b.Start(t.Context(), steps)
	if begun != 3 || err != nil {
		t.Errorf("%d begun, %v", begun, err)
	}
	if b.Phase() != api.Booting {
		t.Errorf("phase %s", b.Phase())
	}
	if err := b.Stop(steps, begun); err != nil {
		t.Error(err)
	}
	if b.Phase() != api.Stopping {
		t.Errorf("phase %s", b.Phase())
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
	requireEvents(t, b.Log, wantEvents...)
}

func TestBootFailsHalfWay(t *testing.T) {
	var r script
	b := idle()
	steps := []ground.Step{r.step("a", nil, failing("a hangs")), r.step("b", nil, nil), r.step("c", failing("boom"), failing("nothing to stop")), r.step("d", nil, nil)}
	begun, err := b.Start(t.Context(), steps)
	if begun != 3 || err == nil || err.Error() != "c: boom" {
		t.Errorf("%d begun, %v", begun, err)
	}
	events, _ := b.Log.Read(0, 0)
	if last := events[len(events)-1]; last.Kind != "boot.failed" || last.Level != event.Error || last.Message != "c: boom" {
		t.Errorf("last event %+v", last)
	}
	// What fails to stop keeps nothing else from being stopped.
	err = b.Stop(steps, begun)
	if err == nil || err.Error() != "stop c: nothing to stop\nstop a: a hangs" {
		t.Errorf("shutdown: %v", err)
	}
	r.require(t, "start a", "start b", "start c", "stop c", "stop b", "stop a")
}

func TestCanceledBoot(t *testing.T) {
	var r script
	b := idle()
	ctx, cancel := context.WithCancelCause(t.Context())
	steps := []ground.Step{r.step("a", func(ctx context.Context) error { cancel(errStopped); return until(ctx) }, nil), r.step("b", nil, nil)}
	begun, err := b.Start(ctx, steps)
	if begun != 1 || !errors.Is(err, errStopped) {
		t.Errorf("%d begun, %v", begun, err)
	}
	requireEvents(t, b.Log) // it did not fail
	r.require(t, "start a")
}

func TestCrashesEndABoot(t *testing.T) {
	var r script
	b := idle()
	steps := []ground.Step{r.step("a", func(ctx context.Context) error {
		b.Crashed(1, "ccm: exit status 1")
		b.Crashed(2, "ccm: exit status 1")
		if ctx.Err() != nil {
			t.Error("the second crash ended the boot")
		}
		b.Crashed(3, "ccm: exit status 2: no such flag")
		<-ctx.Done()
		return ctx.Err() // which says nothing of the reason
	}, nil)}
	_, err := b.Start(t.Context(), steps)
	var crash *crashError
	if !errors.As(err, &crash) || err.Error() != "a: ccm: exit status 2: no such flag" {
		t.Errorf("got %v", err)
	}

	b = idle()
	b.Crashed(3, "before it began") // it has nothing to end, and does not panic
	steps[0] = r.step("a", func(ctx context.Context) error {
		b.SetPhase(api.Ready)
		b.Crashed(99, "later a child may crash as often as it likes")
		return ctx.Err()
	}, nil)
	if _, err := b.Start(t.Context(), steps); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestStepsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r script
		b := idle()
		steps := []ground.Step{r.step("slow", until, until)}
		begin := time.Now()
		begun, err := b.Start(t.Context(), steps)
		if err == nil || err.Error() != "slow: not done after 2m0s" || time.Since(begin) != StepTimeout {
			t.Errorf("start: %v after %v", err, time.Since(begin))
		}
		begin = time.Now()
		if err := b.Stop(steps, begun); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != StopTimeout {
			t.Errorf("stop: %v after %v", err, time.Since(begin))
		}
	})
}

// What the components reported that a failed step waited for is logged before the failure.
func TestEvidence(t *testing.T) {
	b, r := idle(), &script{}
	b.Evidence = func(err error) []string { return []string{"a: " + err.Error(), "b: last line"} }
	_, err := b.Start(t.Context(), []ground.Step{r.step("a", func(context.Context) error { return errors.New("boom") }, nil)})
	if err == nil {
		t.Fatal("no error")
	}
	failed := func(kind, text string) event.Event {
		return event.Event{Plane: event.PlaneSandbox, Level: event.Error, Kind: kind, Message: text}
	}
	requireEvents(t, b.Log, failed("boot.evidence", "a: boom"), failed("boot.evidence", "b: last line"), failed("boot.failed", "a: boom"))
}
