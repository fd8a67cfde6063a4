package scenario_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// slow is a sandbox with slow faults. It completes a request even if the caller has gone.
type slow struct {
	*fake
	inject, heal time.Duration
}

func (s slow) Inject(ctx context.Context, r api.InjectRequest) (api.Lease, error) {
	return late(ctx, s.inject, func() (api.Lease, error) { return s.fake.Inject(ctx, r) })
}

func (s slow) Heal(ctx context.Context, r api.HealRequest) ([]api.Lease, error) {
	return late(ctx, s.heal, func() ([]api.Lease, error) { return s.fake.Heal(ctx, r) })
}

func late[T any](ctx context.Context, after time.Duration, f func() (T, error)) (T, error) {
	var v T
	var err error
	done := make(chan struct{})
	time.AfterFunc(after, func() { v, err = f(); close(done) })
	select {
	case <-done:
		return v, err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// Who interrupts a run waits for the healing of a sandbox that stays, and for nothing else. Its fault makes a node Unknown
// after five seconds and tainted after six, which healing does not mend.
func TestInterruptedEndsSoon(t *testing.T) {
	const (
		breaks  = "- {inject: vcenter.down, on: {vcenter: vc}}\n"
		waits   = breaks + "- expect: {node: worker-2, ready: Unknown}\n"
		tainted = `node worker-1: ready is "Unknown", was "True"; taints is "node.cloudprovider.kubernetes.io/shutdown:NoSchedule", was ""`
	)
	for _, tc := range []struct {
		name         string
		steps        string
		disposable   bool
		inject, heal time.Duration
		interrupt    time.Duration
		took         time.Duration
		verdicts     string
		left         []string
		healed       bool
	}{
		{name: "in a step, of one that stays", steps: waits, interrupt: 7 * time.Second, took: 7 * time.Second, verdicts: "passed interrupted", left: []string{tainted}, healed: true},
		{name: "in a step, of one that is disposable", steps: waits, disposable: true, interrupt: 7 * time.Second, took: 7 * time.Second, verdicts: "passed interrupted", left: []string{"faults f1 are not healed: interrupted", tainted}},
		{name: "healing takes a while", steps: waits, heal: 4 * time.Second, interrupt: 7 * time.Second, took: 11 * time.Second, verdicts: "passed interrupted", left: []string{tainted}, healed: true},
		{name: "healing takes too long", steps: waits, heal: time.Hour, interrupt: 7 * time.Second, took: 7*time.Second + scenario.GraceTime, verdicts: "passed interrupted", left: []string{"faults f1 are not healed: context canceled", tainted}},
		{name: "while it heals, one that stays", steps: breaks + "- {note: later, after: 7s}\n", heal: 8 * time.Second, interrupt: 10 * time.Second, took: 15 * time.Second, verdicts: "passed passed", left: []string{tainted}, healed: true},
		{name: "while it heals, one that is disposable", steps: breaks + "- {note: later, after: 7s}\n", disposable: true, heal: 8 * time.Second, interrupt: 10 * time.Second, took: 10 * time.Second, verdicts: "passed passed", left: []string{"faults f1 are not healed: context canceled", tainted}},
		{name: "while it settles", steps: breaks + "- {note: later, after: 7s}\n", interrupt: 20 * time.Second, took: 20 * time.Second, verdicts: "passed passed", left: []string{tainted}, healed: true},
		{name: "while it injects", steps: waits, inject: 2 * time.Second, interrupt: time.Second, took: 2 * time.Second, verdicts: "passed skipped", healed: true},
		{name: "while it injects, into one that is disposable", steps: waits, disposable: true, inject: 2 * time.Second, interrupt: time.Second, took: time.Second, verdicts: "interrupted skipped"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := slow{fake: newFake(), inject: tc.inject, heal: tc.heal}
				s.onInject = powerOff
				s.put(api.Update{VM: &api.VM{Name: "worker-1", VCenter: "vc", MoRef: "vm-worker-1", Power: "off"}}) // it stays off
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(tc.interrupt, cancel)
				began := time.Now()
				out := scenario.Run(ctx, parse(t, tc.steps), s, scenario.Options{Disposable: tc.disposable})
				if took := time.Since(began); took != tc.took {
					t.Errorf("it took %s, want %s", took, tc.took)
				}
				if got := verdicts(out.Scenario); got != tc.verdicts {
					t.Errorf("%s, want %s", got, tc.verdicts)
				}
				if diff := cmp.Diff(tc.left, out.Left); diff != "" {
					t.Errorf("left (-want +got):\n%s", diff)
				}
				if healed := strings.Contains(strings.Join(s.requested(), "\n"), "heal [f1]"); healed != tc.healed {
					t.Errorf("asked for %q", s.requested())
				}
				time.Sleep(2 * time.Hour) // what was begun ends
			})
		})
	}
}

// requested returns the requests that the fake got.
func (f *fake) requested() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.asked...)
}

// A sandbox that was booted for the run is thrown away as it is; one that stays is healed.
func TestRunAllInterrupted(t *testing.T) {
	for _, stays := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.onInject = powerOff
			stopped := 0
			boot := func(context.Context, scenario.Requirements) (*scenario.Running, error) {
				r := &scenario.Running{Sandbox: f, Name: "s", Stop: func(ctx context.Context) error {
					if stopped++; ctx.Err() == nil {
						t.Error("the stopper does not learn that a caller waits")
					}
					return nil
				}}
				if stays {
					r.Stop = nil
				}
				return r, nil
			}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(7*time.Second, cancel)
			began := time.Now()
			list := []*scenario.Scenario{parse(t, "- {inject: vcenter.down, on: {vcenter: vc}}\n- expect: {node: worker-2, ready: Unknown}\n"), parse(t, "- note: never\n")}
			suite := scenario.RunAll(ctx, list, boot, scenario.Options{}, nil)
			var got []result.Verdict
			for _, s := range suite.Scenarios {
				got = append(got, s.Verdict)
			}
			want := []any{7 * time.Second, []result.Verdict{result.Interrupted, result.Interrupted}, !stays, stays}
			if diff := cmp.Diff(want, []any{time.Since(began), got, stopped == 1, len(f.requested()) == 2}); diff != "" {
				t.Errorf("stays %v: (-want +got):\n%s\nasked for %q", stays, diff, f.requested())
			}
		})
	}
}
