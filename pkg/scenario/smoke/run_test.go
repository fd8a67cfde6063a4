package smoke

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/golden"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

const good = "metadata: {name: good}\nsteps: [{expect: {node: all, ready: True}}]\n"

const bad = `metadata: {name: bad}
fails: [{ccm: "module:v1.36.*", why: it reads the wrong thing}]
steps: [{expect: {node: cp-1, ready: "False"}, within: 1s}]
`

// judge runs a smoke on fakes.
func judge(t *testing.T, o Options, change func(*fake)) (r *Report, boots, stops int) {
	t.Helper()
	var now *fake
	refuse := o.refuse
	o.Boot = func(_ context.Context, c Program, _ scenario.Requirements) (*scenario.Running, error) {
		if refuse != nil {
			if err := refuse(c); err != nil {
				return nil, err
			}
		}
		boots++
		now = newFake(c.Source)
		if change != nil {
			change(now)
		}
		return &scenario.Running{Sandbox: now, Name: "s", CCM: c.Source, Command: now.command, Stop: func(context.Context) error { stops++; return nil }}, nil
	}
	if o.Version == nil {
		o.Version = func(_ context.Context, c Program) (string, error) {
			return "vsphere-cloud-controller-manager " + cmp.Or(c.Version, "v1.36.0") + "\n", nil
		}
	}
	o.terminate = func(pid int) error { return now.terminate(pid) }
	o.Speed = 10
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r, boots, stops
}

func verdicts(r *Report) string {
	var all []string
	for i := range r.Suite.Scenarios {
		s := &r.Suite.Scenarios[i]
		all = append(all, s.Name+" "+report.Word(s))
	}
	return strings.Join(all, "\n")
}

// dates are what differs from run to run.
var dates = regexp.MustCompile(`\d{4}-\d\d-\d\d`)

func TestRun(t *testing.T) {
	upstream := Program{Source: "module:v1.36.0", Version: "v1.36.0"}
	for _, tc := range []struct {
		name    string
		o       Options
		change  func(*fake)
		verdict result.Verdict
	}{
		{"well", Options{Program: Program{Source: "builtin", Own: true}}, nil, result.Passed},
		{"regressed", Options{Program: upstream, Baseline: &Program{Source: "module:v1.34.0", Version: "v1.34.0"}}, func(f *fake) {
			if f.ccm == upstream.Source {
				f.exit, f.leaks = "ccm: exit status 1: lost", true
			}
		}, result.Failed},
		{"fixed", Options{Program: upstream, Baseline: &Program{Source: "module:v1.34.0", Version: "v1.34.0"}}, func(f *fake) {
			if f.ccm != upstream.Source {
				f.exit, f.leaks = "ccm: exit status 1: lost", true
			}
		}, result.Passed},
		{"baseline", Options{Program: upstream, Baseline: &Program{Source: "module:v1.34.0", Version: "v1.34.0"}}, nil, result.Passed},
		{"known", Options{Program: upstream}, func(f *fake) { f.exit, f.leaks = "ccm: signal: terminated", true }, result.Passed},
		{"strict", Options{Program: upstream, Strict: true}, func(f *fake) { f.exit, f.leaks = "ccm: signal: terminated", true }, result.Failed},
		{"broken", Options{Program: Program{Source: "./mine"}}, func(f *fake) { f.exit, f.leaks, f.idle = "ccm: exit status 1: lost", true, true }, result.Failed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tc.o.Suite = []*scenario.Scenario{parse(t, good), parse(t, bad)}
				if tc.o.Program.Source != upstream.Source {
					tc.o.Suite = tc.o.Suite[:1]
				}
				r, boots, stops := judge(t, tc.o, tc.change)
				if boots != stops {
					t.Errorf("%d boots, %d stops", boots, stops)
				}
				if r.Suite.Verdict() != tc.verdict {
					t.Errorf("verdict %q, want %q", r.Suite.Verdict(), tc.verdict)
				}
				var b bytes.Buffer
				if err := Table(&b, r); err != nil {
					t.Fatal(err)
				}
				golden.Equal(t, tc.name+".md", dates.ReplaceAllString(b.String(), "DATE"))
			})
		})
	}
}

// TestReported: a known failure is no failure for programs, and is reported as it is.
func TestReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, _ := judge(t, Options{Program: Program{Source: "module:v1.36.0", Version: "v1.36.0"}, Suite: []*scenario.Scenario{parse(t, bad)}}, nil)
		if s := r.Suite; s.Verdict() != result.Passed || s.Count(result.Failed) != 0 || s.Count(result.Known) != 1 {
			t.Errorf("reported %q with %d failures", s.Verdict(), s.Count(result.Failed))
		}
		var doc struct {
			Kind, Verdict string
			Checks        []struct{ Name, Verdict, Known string }
			Phases        []struct {
				Name  string
				Total int
			}
			Results struct{ Kind string }
		}
		var b bytes.Buffer
		if err := JSON(&b, r); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		if doc.Kind != KindReport || doc.Verdict != "passed" || doc.Results.Kind != "ScenarioResult" || len(doc.Phases) != 4 || doc.Phases[0].Total != 10 {
			t.Errorf("%+v", doc)
		}
		found := false
		for _, c := range doc.Checks {
			found = found || c.Name == "bad" && c.Known == "it reads the wrong thing" && c.Verdict == "known"
		}
		if !found {
			t.Errorf("%+v", doc.Checks)
		}
	})
}

func TestNoSandbox(t *testing.T) {
	o := Options{
		Program: Program{Source: "builtin", Own: true}, Suite: []*scenario.Scenario{parse(t, good)},
		Boot: func(context.Context, Program, scenario.Requirements) (*scenario.Running, error) {
			return nil, errors.New("no room")
		},
		Version: func(context.Context, Program) (string, error) { return "", errors.New("not executable") },
	}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"version ✗ errored", "upgrade – skipped", "calls-power-off ✗ errored", "calls-outage ✗ errored", "good ✗ errored", "leader-lost ✗ errored", "clean-exit ✗ errored",
	}, "\n")
	if diff := gocmp.Diff(want, verdicts(r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r.Suite.Verdict() != result.Errored {
		t.Error(r.Suite.Verdict())
	}
}

// A CSI driver has other checks, and another upgrade.
func TestDriver(t *testing.T) {
	o := Options{
		Program: Program{Source: "./mine", Driver: true}, Baseline: &Program{Source: "builtin", Own: true, Driver: true}, Suite: []*scenario.Scenario{parse(t, good)},
		Boot: func(_ context.Context, _ Program, need scenario.Requirements) (*scenario.Running, error) {
			return nil, errors.New("no room for " + need.Topology.Metadata.Name + " with CSI " + need.Components.CSI)
		},
		Version: func(context.Context, Program) (string, error) { return "vsphere-csi v1.0.0", nil },
		Sanity: func(context.Context, *scenario.Running) (Sanity, error) {
			return Sanity{}, errors.New("has no sandbox")
		},
	}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"version ✓ passed", "driver-upgrade ✗ errored", "good ✗ errored", "calls-volume ✗ errored", "calls-volume-outage ✗ errored",
		"sanity ✗ errored", "clean-exit ✗ errored", "driver-leader-lost – skipped",
	}, "\n")
	if diff := gocmp.Diff(want, verdicts(r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s := r.Suite.Scenarios[7]; s.Message != onePerMachine {
		t.Errorf("leader: %s", s.Message)
	}
	if s := r.Suite.Scenarios[5]; s.Message != "no room for sanity with CSI builtin" {
		t.Errorf("sanity: %s", s.Message)
	}
	own := o
	own.Program.Own = true
	if all, err := Run(t.Context(), own); err != nil || !strings.Contains(verdicts(all), "driver-leader-lost ✗ errored") {
		t.Errorf("%v:\n%s", err, verdicts(all))
	}
	var b bytes.Buffer
	if err := Table(&b, r); err != nil || !strings.Contains(b.String(), "\nCSI driver ./mine · baseline builtin") {
		t.Errorf("%v:\n%s", err, b.String())
	}
}

// What the sanity suite finds is one failure with its names; without the suite the check is skipped.
func TestSanity(t *testing.T) {
	for _, tc := range []struct {
		got     Sanity
		no      string
		verdict result.Verdict
		message string
	}{
		{Sanity{Passed: 73, Skipped: 19}, "", result.Passed, "73 passed, 19 skipped"},
		{Sanity{Passed: 1, Failed: []SanityFailure{{"a", "b"}, {"c", "d"}}}, "", result.Failed, "2 failed, 1 passed, 0 skipped: a: b; c: d"},
		{Sanity{}, "there is no Go", result.Skipped, "there is no Go"},
	} {
		var stopped int
		o := Options{
			Program: Program{Source: "./mine", Driver: true}, Only: []string{"sanity"}, NoSanity: tc.no,
			Boot: func(context.Context, Program, scenario.Requirements) (*scenario.Running, error) {
				return &scenario.Running{Sandbox: newFake("x"), Name: "s", Stop: func(context.Context) error { stopped++; return nil }}, nil
			},
			Sanity: func(context.Context, *scenario.Running) (Sanity, error) { return tc.got, nil },
		}
		r, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if s := r.Suite.Scenarios[0]; len(r.Suite.Scenarios) != 1 || s.Verdict != tc.verdict || s.Message != tc.message || stopped != len(r.Suite.Boots) {
			t.Errorf("%+v, stopped %d", s, stopped)
		}
	}
}

// A failure of upstream's driver is known if all of its tests are known to fail. One that is new is not, and one that passes is named.
func TestSanityOfUpstream(t *testing.T) {
	all := upstreamSanity()
	if len(all) != 26 {
		t.Errorf("%d tests are excused, and 26 fail", len(all))
	}
	var known []SanityFailure
	for _, e := range all {
		if e.why == "" {
			t.Errorf("%s: no reason", e.test)
		}
		known = append(known, SanityFailure{e.test, "x"})
	}
	const reasons = "; all of them are known to fail: 7× Internal instead of InvalidArgument; 4× not checked: the request succeeds; "
	upstream := Program{Source: "module:v3.7.0", Version: "v3.7.0", Driver: true}
	for _, tc := range []struct {
		name    string
		program Program
		failed  []SanityFailure
		shown   result.Verdict
		message string
	}{
		{"as known", upstream, known, result.Known, "26 failed, 46 passed, 20 skipped" + reasons},
		{"a new one", upstream, append(known[:25:25], SanityFailure{"new", "y"}), result.Failed, "26 failed, 46 passed, 20 skipped; 1 of them are not known to fail: new: y"},
		{"one is mended", upstream, known[1:], result.Known, "25 failed, 46 passed, 20 skipped; known to fail, and does not: " + all[0].test + "; all of them are known to fail: 4× not checked"},
		{"another driver", Program{Source: "./mine", Driver: true}, known[:1], result.Failed, "1 failed, 46 passed, 20 skipped: " + all[0].test + ": x"},
	} {
		r, err := Run(t.Context(), Options{
			Program: tc.program, Only: []string{"sanity"},
			Boot: func(context.Context, Program, scenario.Requirements) (*scenario.Running, error) {
				return &scenario.Running{Sandbox: newFake("x"), Name: "s"}, nil
			},
			Sanity: func(context.Context, *scenario.Running) (Sanity, error) {
				return Sanity{Passed: 46, Skipped: 20, Failed: tc.failed}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if s := r.Suite.Scenarios[0]; s.Shown() != tc.shown || !strings.HasPrefix(s.Message, tc.message) {
			t.Errorf("%s: %s, %s", tc.name, s.Shown(), s.Message)
		}
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := Options{Program: Program{Source: "builtin", Own: true}, Suite: []*scenario.Scenario{parse(t, good)}}
	r, err := Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Suite.Count(result.Interrupted); n != 6 { // the upgrade was not asked for
		t.Errorf("%d of 6 are interrupted:\n%s", n, verdicts(r))
	}
}

// A sandbox that was left other than it was is not the one that is asked to end.
func TestExitOnACleanSandbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leaves := parse(t, "metadata: {name: leaves}\nsteps: [{run: [vsphere-sandbox, leave]}]\n")
		var asked []int
		var now *fake
		boots := 0
		o := Options{Program: Program{Source: "builtin", Own: true}, Suite: []*scenario.Scenario{leaves}, Speed: 10}
		o.Version = func(context.Context, Program) (string, error) { return "v1.0.0", nil }
		o.terminate = func(pid int) error {
			asked = append(asked, boots)
			return now.terminate(pid)
		}
		o.Boot = func(_ context.Context, c Program, _ scenario.Requirements) (*scenario.Running, error) {
			boots++
			f := newFake(c.Source)
			now = f
			return &scenario.Running{Sandbox: f, Name: "s", Command: func(ctx context.Context, cmd scenario.Command) (scenario.Output, error) {
				if cmd.Argv[1] == "leave" {
					f.put(api.Update{Node: &api.Node{Name: "cp-1", Registered: true, Ready: "False"}})
					return scenario.Output{}, nil
				}
				return f.command(ctx, cmd)
			}}, nil
		}
		if _, err := Run(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff([]int{3}, asked); diff != "" { // one for the suite, one for two replicas, one for this check
			t.Errorf("asked to end on sandbox (-want +got):\n%s", diff)
		}
	})
}

// On a cluster where the program runs as pods, what signals its process is skipped, and said so.
func TestPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, _ := judge(t, Options{Program: Program{Source: "module:v1.36.0", Version: "v1.36.0"}, Suite: []*scenario.Scenario{parse(t, good)}, Pods: true}, nil)
		skipped := 0
		for i := range r.Suite.Scenarios {
			s := &r.Suite.Scenarios[i]
			switch s.Name {
			case exitCheck:
				t.Errorf("%s: %s", s.Name, s.Verdict)
			case manager().upgrade, manager().leader:
				if skipped++; s.Verdict != result.Skipped || s.Message != "on this cluster the program runs as pods" {
					t.Errorf("%s: %s, %s", s.Name, s.Verdict, s.Message)
				}
			}
		}
		if skipped != 2 || r.Suite.Verdict() != result.Passed {
			t.Errorf("%s:\n%s", r.Suite.Verdict(), verdicts(r))
		}
	})
}
