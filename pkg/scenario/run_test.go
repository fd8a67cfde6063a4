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

// verdicts are what steps were judged, a word each.
func verdicts(s result.Scenario) string {
	var words []string
	for _, step := range s.Steps {
		words = append(words, string(step.Verdict))
	}
	return strings.Join(words, " ")
}

func TestRun(t *testing.T) {
	for _, tc := range []struct {
		name    string
		steps   string
		want    string
		verdict result.Verdict
		message string
		prepare func(f *fake)
	}{
		{name: "power off and on", want: "passed passed passed passed passed passed passed", verdict: result.Passed, steps: `
- never: {event: {kind: node.deleted}}
  until: end
- inject: vcenter.down
  on: {vcenter: vc}
  as: outage
- expect: {vm: worker-1, power: off}
  within: 1s
- expect: {node: worker-1, ready: Unknown, taints: [node.cloudprovider.kubernetes.io/shutdown]}
  within: 10s
- expect: {node: worker-2, ready: True, taints: []}
- heal: outage
- wait: {node: all, ready: true, taints: []}
  within: 10s
`},
		{
			name: "too late", want: "passed failed passed", verdict: result.Failed,
			message: "expect node worker-1: ready Unknown within 4s: node worker-1: ready is True", steps: `
- {inject: vcenter.down, on: {vcenter: vc}}
- expect: {node: worker-1, ready: Unknown}
  within: 4s
- note: goes on
`,
		},
		{name: "scaled", want: "passed failed passed", verdict: result.Failed, steps: `
- {inject: vcenter.down, on: {vcenter: vc}}
- expect: {node: worker-1, ready: Unknown}
  within: 40s/speed
- expect: {node: worker-1, ready: Unknown}
  within: 40s/speed
`},
		{name: "a wait ends it", want: "failed skipped", verdict: result.Failed, steps: `
- wait: {node: worker-1, ready: Unknown}
  within: 4s
- note: never comes to it
`},
		{name: "stays", want: "passed failed", verdict: result.Failed, steps: `
- {inject: vcenter.down, on: {vcenter: vc}}
- expect: {node: worker-1, ready: True}
  within: 1s
  for: 10s
`},
		{name: "never is broken in the background", want: "failed passed passed", verdict: result.Failed, steps: `
- never: {node: worker-1, ready: Unknown}
  until: end
- {inject: vcenter.down, on: {vcenter: vc}}
- {note: later, after: 10s}
`},
		{name: "never of several is never of any", want: "failed failed passed passed", verdict: result.Failed, steps: `
- never: {node: all, ready: Unknown}
  until: end
- never: [{node: "worker-*", ready: Unknown}, {node: {ready: Unknown}}]
  until: end
- {inject: vcenter.down, on: {vcenter: vc}}
- {note: later, after: 10s}
`},
		{name: "never until a step", want: "passed passed passed passed", verdict: result.Passed, steps: `
- never: {node: worker-1, ready: Unknown}
  until: over
- {inject: vcenter.down, on: {vcenter: vc}}
- {note: still well, as: over, after: 4s}
- {note: not now, after: 4s}
`},
		{name: "never for a time", want: "passed passed failed", verdict: result.Failed, message: `never event node.tainted of worker-1 for 4s: it was true: there were 1, the last one #4 node.tainted worker-1: taint shutdown`, steps: `
- {inject: vcenter.down, on: {vcenter: vc}}
- never: {event: {kind: node.tainted, object: worker-1}}
  for: 4s
- never: {event: {kind: node.tainted, object: worker-1}}
  for: 4s
`},
		{name: "refused", want: "passed errored skipped", verdict: result.Errored, steps: `
- note: first
- {inject: vcenter.down, on: {names: vc}, with: {client: ccm}}
- note: last
`, prepare: func(f *fake) { f.refuse = true }},
		{name: "order and causes", want: "passed passed passed passed failed", verdict: result.Failed, steps: `
- {inject: vcenter.down, on: {vcenter: vc}, as: off}
- expect: {events: [{kind: vm.powered-off}, {kind: node.unknown}, {kind: node.tainted, object: worker-1}]}
- expect: {events: {caused: yes, order: [{kind: fault.injected}, {kind: node.tainted}]}}
- expect: {event: {kind: node.tainted, cause: off}}
- expect: {events: [{kind: node.tainted}, {kind: node.unknown}]}
  within: 5s
`},
		{name: "set", want: "passed passed failed", verdict: result.Failed, steps: `
- set: {id: {node: worker-1, field: providerID}, ip: {node: worker-1, field: addresses.0}}
- expect: {node: worker-1, providerID: "${id}", addresses: ["${ip}"]}
- expect: {node: worker-2, providerID: "${id}"}
  within: 1s
`},
		{name: "counts", want: "passed passed passed passed", verdict: result.Passed, steps: `
- expect: {node: "worker-*", count: 2}
- expect: {node: {ready: True}, count: ">= 1"}
- expect: {node: all, providerID: "vsphere://worker-1", count: 1}
- expect: {node: worker-2, exists: yes}
`},
		{name: "any", want: "passed failed", verdict: result.Failed, steps: `
- expect: {any: [{node: worker-1, ready: Unknown}, {node: worker-2, ready: True}]}
- expect: [{node: worker-1, ready: Unknown}, {node: worker-2, ready: True}]
  within: 1s
`},
		{name: "calls", want: "passed passed passed failed", verdict: result.Failed, steps: `
- {note: from here, as: mark}
- expect: {calls: {client: ccm, method: "Find*", count: ">= 3", since: mark}}
  within: 4s
- expect: {calls: {client: govc, count: 0}}
- never: {calls: {vcenter: vc, count: "> 2", since: mark}}
  for: 2s
`, prepare: func(f *fake) {
			f.calls = []api.Calls{{VCenter: "vc", Client: "vsphere-cloud-provider", Method: "FindByUuid", Calls: 5}}
			time.AfterFunc(2*time.Second, func() { f.mu.Lock(); f.calls[0].Calls = 8; f.mu.Unlock() })
		}},
		{name: "metrics", want: "passed passed failed", verdict: result.Failed, steps: `
- expect: {metric: {component: ccm, name: up, labels: {zone: "a*"}, value: 3}}
- expect: {metric: {component: ccm, name: up, value: "> 3", since: start}}
  within: 5s
- expect: {metric: {component: ccm, name: down, value: 1}}
  within: 1s
`, prepare: func(f *fake) {
			f.metrics = "# HELP up x\nup{zone=\"a1\"} 1\nup{zone=\"a\\\"2\"} 2 1234\nup{zone=\"b\"} 4\n"
			time.AfterFunc(3*time.Second, func() { f.mu.Lock(); f.metrics = "up 11\n"; f.mu.Unlock() })
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.onInject, f.onHeal = powerOff, powerOn
				if tc.prepare != nil {
					tc.prepare(f)
				}
				out := scenario.Run(t.Context(), parse(t, tc.steps), f, scenario.Options{})
				time.Sleep(time.Minute) // what the fake has begun ends
				if got := verdicts(out.Scenario); got != tc.want || out.Verdict != tc.verdict {
					t.Errorf("%s: %s, want %s: %s", out.Verdict, got, tc.verdict, tc.want)
					for _, s := range out.Steps {
						t.Logf("%s %s: %s %s\n%s", s.Action, s.Text, s.Verdict, s.Message, s.Detail)
					}
				}
				if tc.message != "" && out.Message != tc.message {
					t.Errorf("message: %s", out.Message)
				}
				for id, l := range f.leases {
					if l.State != "healed" {
						t.Errorf("%s is %s", id, l.State)
					}
				}
				if len(out.Left) > 0 {
					t.Errorf("left: %v", out.Left)
				}
			})
		})
	}
}

// Restarts of before the injection do not count, and those of a program that took the place of another one do.
func TestRestartsCountFromTheInjection(t *testing.T) {
	component := func(restarts int) api.Update {
		return api.Update{Component: &api.Component{Name: "ccm", State: "running", Restarts: restarts}}
	}
	for _, tc := range []struct {
		name, steps, want string
		after             int // restarts, a second after the injection
	}{
		{name: "none before", after: 4, want: "passed passed passed", steps: `
- expect: {component: ccm, restarts: 0}
  within: 1s
- {inject: ccm.killed}
- expect: {component: ccm, restarts: 1}
`},
		{name: "none after", after: 3, want: "passed failed", steps: `
- {inject: ccm.killed}
- expect: {component: ccm, state: running, restarts: ">= 1"}
`},
		{name: "another fault after it", after: 4, want: "passed passed passed", steps: `
- {inject: ccm.killed}
- {inject: vcenter.down, on: {vcenter: vc}, after: 2s}
- expect: {component: ccm, restarts: ">= 1"}
`},
		{name: "a second injection", after: 4, want: "passed passed failed", steps: `
- {inject: ccm.killed}
- {inject: ccm.killed, after: 2s}
- expect: {component: ccm, restarts: ">= 1"}
`},
		{name: "another program", after: 2, want: "passed passed", steps: `
- {inject: ccm.killed}
- expect: {component: ccm, restarts: 2}
`},
		{name: "a never counts from its own beginning", after: 4, want: "passed passed", steps: `
- {inject: ccm.killed}
- never: {component: ccm, restarts: ">= 1"}
  for: 5s
  after: 2s
`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.put(component(3))
				f.onInject = func(f *fake, _ api.InjectRequest, _ uint64) {
					time.Sleep(time.Second)
					f.put(component(tc.after))
				}
				out := scenario.Run(t.Context(), parse(t, tc.steps), f, scenario.Options{})
				if got := verdicts(out.Scenario); got != tc.want {
					t.Errorf("%s, want %s: %s", got, tc.want, out.Message)
				}
				time.Sleep(time.Second)
			})
		})
	}
}

func TestLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.onInject, f.onHeal = powerOff, powerOn
		out := scenario.Run(t.Context(), parse(t, `
- {inject: vcenter.down, on: {vcenter: vc}}
- {note: something else, after: 1s}
- expect: {node: worker-1, ready: Unknown}
- expect: {event: {kind: node.tainted}}
`), f, scenario.Options{})
		var got []time.Duration
		for _, s := range out.Steps[2:] {
			got = append(got, s.Latency)
		}
		if diff := cmp.Diff([]time.Duration{5 * time.Second, 6 * time.Second}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// The progress of a step shows the last state also where states follow each other within moments, as NotReady and its taint do.
func TestProgressIsOfNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.onInject = func(f *fake, _ api.InjectRequest, _ uint64) {
			time.Sleep(4 * time.Second)
			f.put(node("worker-1", "Unknown"))
			time.Sleep(10 * time.Millisecond)
			f.put(node("worker-1", "Unknown", "node.kubernetes.io/unreachable:NoExecute"))
		}
		var last string
		scenario.Run(t.Context(), parse(t, `
- {inject: vcenter.down, on: {vcenter: vc}}
- expect: {node: worker-1, taints: [node.cloudprovider.kubernetes.io/shutdown]}
  within: 10s
`), f, scenario.Options{Observe: func(u result.Update) {
			if u.Change == result.Waiting {
				last = u.Text
			}
		}})
		time.Sleep(time.Minute)
		if want := "taints is node.kubernetes.io/unreachable:NoExecute"; !strings.Contains(last, want) {
			t.Errorf("the last progress is %q, want %q in it", last, want)
		}
	})
}

// The draft that "scenario record" makes of a power-off for twenty seconds fails on a provider that never taints.
func TestRecordedPowerOff(t *testing.T) {
	const draft = `
- inject: vm.power-off
  on: {vm: vc/worker-1}
  for: 20s
- expect: {node: worker-1, ready: Unknown, taints: [node.cloudprovider.kubernetes.io/shutdown]}
  within: 30s
- expect: {node: worker-1, ready: "True", noTaints: [node.cloudprovider.kubernetes.io/shutdown]}
  within: 1m
`
	for want, taints := range map[string][]string{"passed passed passed": {"node.cloudprovider.kubernetes.io/shutdown:NoSchedule"}, "passed failed passed": nil} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.onInject = func(f *fake, _ api.InjectRequest, _ uint64) {
				time.Sleep(5 * time.Second)
				f.put(node("worker-1", "Unknown", taints...))
				time.Sleep(17 * time.Second)
				f.put(node("worker-1", "True"))
			}
			out := scenario.Run(t.Context(), parse(t, draft), f, scenario.Options{})
			if got := verdicts(out.Scenario); got != want {
				t.Errorf("taints %v: %s, want %s", taints, got, want)
			}
		})
	}
}

// A run that is interrupted heals what it has broken.
func TestInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		out := scenario.Run(ctx, parse(t, `
- {inject: vcenter.down, on: {vcenter: vc}}
- expect: {node: worker-1, ready: Unknown}
- note: never
`), f, scenario.Options{})
		if got := verdicts(out.Scenario); got != "passed interrupted skipped" || out.Verdict != result.Interrupted || out.Message != "interrupted" {
			t.Errorf("%s: %s, %s", out.Verdict, got, out.Message)
		}
		if f.leases["f1"].State != "healed" {
			t.Error("it is not healed")
		}
	})
}

// What takes something that the ground does not have is no failure, and no success.
func TestGroundLacksIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.lacks = "etcd.slow"
		out := scenario.Run(t.Context(), parse(t, `
- {inject: vcenter.down, on: {vcenter: vc}}
- {inject: etcd.slow}
- expect: {node: worker-1, ready: Unknown}
`), f, scenario.Options{})
		if got := verdicts(out.Scenario); got != "passed skipped skipped" || out.Verdict != result.Skipped || out.Message != "inject etcd.slow: etcd.slow takes what there is not here" {
			t.Errorf("%s: %s, %s", out.Verdict, got, out.Message)
		}
		if f.leases["f1"].State != "healed" {
			t.Error("what was injected before is not healed")
		}
	})
}

func TestSandboxGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		time.AfterFunc(3*time.Second, func() { close(f.ended) })
		out := scenario.Run(t.Context(), parse(t, `
- expect: {node: worker-1, ready: Unknown}
- note: never
`), f, scenario.Options{})
		if got := verdicts(out.Scenario); got != "errored skipped" || out.Message != "the sandbox has ended" && !strings.HasSuffix(out.Message, "the sandbox has ended") {
			t.Errorf("%s: %s", got, out.Message)
		}
	})
}

// TestLeft: what a scenario does not restore is reported, so that no other scenario runs on the sandbox.
func TestLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.onInject = func(f *fake, r api.InjectRequest, _ uint64) { f.put(node("worker-1", "True", "odd:NoSchedule")) }
		out := scenario.Run(t.Context(), parse(t, `
- {inject: vcenter.down, on: {vcenter: vc}}
`), f, scenario.Options{})
		if diff := cmp.Diff([]string{`node worker-1: taints is "odd:NoSchedule", was ""`}, out.Left); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if out.Verdict != result.Passed {
			t.Errorf("%s: %s", out.Verdict, out.Message)
		}
	})
}

func TestTimeline(t *testing.T) {
	var lines []string
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.onInject, f.onHeal = powerOff, powerOn
			out := scenario.Run(t.Context(), parse(t, `
- {inject: vcenter.down, on: {vcenter: vc}, as: off}
- expect: {node: worker-1, taints: [node.cloudprovider.kubernetes.io/shutdown]}
- heal: off
- expect: {node: worker-1, ready: True, taints: []}
`), f, scenario.Options{})
			lines = append(lines, out.Timeline)
		})
	}
	want := `inject vcenter.down on vcenter vc, as off: passed
  fault.healed
    vm.powered-on vc/worker-1
    node.ready worker-1
  vm.powered-off vc/worker-1
    node.unknown worker-1
      node.tainted worker-1
expect node worker-1: taints node.cloudprovider.kubernetes.io/shutdown within 1m: passed
heal off: passed
expect node worker-1: ready True, taints none within 1m: passed
`
	for _, got := range lines {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// What may have been missed while a never watched is no proof that it did not happen; what was waited for and came, came.
func TestGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		time.AfterFunc(2*time.Second, func() { f.cut <- struct{}{} })
		out := scenario.Run(t.Context(), parse(t, `
- expect: {node: worker-1, ready: True}
  for: 5s
- never: {event: {kind: node.deleted}}
  for: 1s
`), f, scenario.Options{})
		if got := verdicts(out.Scenario); got != "passed passed" {
			t.Errorf("before it: %s", got)
		}
		time.AfterFunc(2*time.Second, func() { f.cut <- struct{}{} })
		out = scenario.Run(t.Context(), parse(t, `
- never: {event: {kind: node.deleted}}
  until: end
- never: {event: {kind: node.deleted}}
  for: 5s
`), f, scenario.Options{})
		if got := verdicts(out.Scenario); got != "errored skipped" && got != "errored errored" {
			t.Errorf("%s: %s", got, out.Message)
		}
	})
}
