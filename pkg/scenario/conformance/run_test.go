package conformance

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/capability"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret/mask"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// plan lists and chooses from the stand-in.
func plan(t *testing.T, program string, c Choice) *Plan {
	t.Helper()
	specs, err := List(t.Context(), program, t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Choose(specs, c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// short is the last words of the tests.
func short(specs []Spec) []string {
	var all []string
	for _, s := range specs {
		_, text, _ := strings.Cut(s.Name, "should ")
		all = append(all, strings.TrimSuffix(text, " [Conformance]"))
	}
	return all
}

func TestChoose(t *testing.T) {
	program, _ := fake(t)
	for _, tc := range []struct {
		name         string
		c            Choice
		run, skipped []string
	}{
		{"quick", Choice{Suite: Quick}, []string{"see (all) changes", "be flaky", "crash", "hang", "skip itself"}, []string{"be called"}},
		{"containers", Choice{Suite: Quick, Containers: true, Focus: regexp.MustCompile("Webhooks|Watchers")}, []string{"see (all) changes", "be called"}, nil},
		{"all", Choice{Suite: Conformance, Skip: regexp.MustCompile("Discovery|Webhooks")}, []string{"see (all) changes", "be flaky", "fail [Serial]", "do"}, nil},
	} {
		p := plan(t, program, tc.c)
		var skipped []Spec
		for _, s := range p.Skipped {
			if skipped = append(skipped, s.Spec); s.Reason == "" {
				t.Errorf("%s: no reason", s.Name)
			}
		}
		if d := cmp.Diff([][]string{tc.run, tc.skipped}, [][]string{short(p.Run), short(skipped)}); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
	external := []Spec{{Name: "[sig-storage] External Storage [Driver: d] provisioning"}, {Name: "[sig-storage] External Storage [Driver: d] restarts [Disruptive]"}}
	p, err := Choose(external, Choice{Suite: Storage, Containers: true})
	if err != nil || len(p.Run) != 1 || len(p.Skipped) != 1 || p.Skipped[0].Name != external[1].Name {
		t.Errorf("a driver's tests: %+v, %v", p, err)
	}
	grow := []Spec{
		{Name: "External Storage [Driver: d] [Testpattern: Dynamic PV (default fs)(allowExpansion)] volume-expand Verify if offline PVC expansion works"},
		{Name: "External Storage [Driver: d] [Testpattern: Generic Ephemeral-volume (default fs) (late-binding)] ephemeral should support expansion of pvcs"},
		{Name: "External Storage [Driver: d] [Testpattern: Dynamic PV (block volmode)(allowExpansion)] volume-expand Verify if offline PVC expansion works"},
	}
	for withheld, want := range map[bool]int{false: 0, true: 2} {
		p, err := Choose(grow, Choice{Suite: Storage, Containers: true, Withheld: func(name string) bool { return withheld && name == capability.SysResource }})
		if err != nil || len(p.Skipped) != want || len(p.Run) != 3-want {
			t.Errorf("CAP_SYS_RESOURCE withheld: %t: %+v, %v, want %d skipped", withheld, p, err, want)
		}
	}
	if _, err := Choose([]Spec{{Name: "x"}}, Choice{Suite: Quick}); err == nil || err.Error() != "no test of the suite quick matches" {
		t.Errorf("nothing to run: %v", err)
	}
	broken := filepath.Join(t.TempDir(), "e2e.test")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho unknown flag\nexit 2\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := List(t.Context(), broken, t.TempDir(), ""); err == nil || !strings.Contains(err.Error(), "unknown flag") {
		t.Errorf("no list: %v", err)
	}
}

// The program reads the definition of the driver of both kinds, when it lists the tests and when it runs them.
func TestDriver(t *testing.T) {
	for _, upstream := range []bool{false, true} {
		file, err := WriteDriver(t.TempDir(), upstream)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			DriverInfo struct {
				Name         string
				Capabilities map[string]bool
			}
		}
		if err := yaml.Unmarshal(text, &d); err != nil || d.DriverInfo.Name != "csi.vsphere.vmware.com" || !d.DriverInfo.Capabilities["persistence"] {
			t.Errorf("%+v, %v", d, err)
		}
	}
	program, dir := fake(t)
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	specs, err := List(t.Context(), program, filepath.Dir(program), "/driver.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("the program has left %v, %v", left, err)
	}
	o := Options{Program: program, Kubeconfig: "/dev/null", Dir: t.TempDir(), Driver: "/driver.yaml"}
	if _, err := Run(t.Context(), &Plan{Run: specs[:1]}, o); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "drivers")); err != nil || string(text) != "/driver.yaml\n/driver.yaml\n" {
		t.Errorf("the program was given %q, %v", text, err)
	}
}

// Each way in which a test ends has its verdict, and a run that is resumed runs what has not passed.
func TestRun(t *testing.T) {
	program, _ := fake(t)
	p := plan(t, program, Choice{Suite: Conformance, Containers: true, Skip: regexp.MustCompile("should hang")})
	var kept []Outcome
	var ended, running []string
	o := Options{
		Program: program, Kubeconfig: "/dev/null", Dir: t.TempDir(), Batch: 1,
		Keep:    func(all []Outcome) error { kept = all; return nil },
		Running: func(text string) { running = append(running, text) },
		Ended:   func(o Outcome, _, _ int) { ended = append(ended, o.Name) },
	}
	outcomes, err := Run(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, o := range outcomes {
		got[short([]Spec{o.Spec})[0]] = string(o.Verdict) + " " + o.Message
	}
	want := map[string]string{
		"see (all) changes": "passed ",
		"be flaky":          "passed flaky: failed once (expected true to be false (namespace.go:12)), and passed when it was run again",
		"fail [Serial]":     "failed expected true to be false (namespace.go:12)",
		"be called":         "passed ",
		"crash":             "errored e2e.test: exit status 2: panic: out of order",
		"skip itself":       "skipped only for large clusters",
		"do":                "passed ",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if len(kept) != len(p.Run) || len(ended) != len(p.Run)+3 || !slices.ContainsFunc(running, func(s string) bool { return strings.HasPrefix(s, "once more: ") }) {
		t.Errorf("kept %d, ended %d, running %q", len(kept), len(ended), running)
	}
	if left, err := os.ReadDir(o.Dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}

	ended = nil
	o.Known, o.Parallel = outcomes, 3
	o.Ended, o.Running = nil, nil
	again, err := Run(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	passed := 0
	for i := range again {
		if again[i].Verdict == result.Passed && again[i].Began.Equal(outcomes[i].Began) {
			passed++
		}
	}
	if passed != 4 {
		t.Errorf("%d were taken from the run before, want 4", passed)
	}

	r := Report{Kubernetes: "v1.37.2", Suite: Conformance, Outcomes: outcomes, Skipped: []Skipped{{Spec{Name: "[sig-node] x"}, "pods have no network"}}}
	var b strings.Builder
	if err := r.Markdown(&b); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"### conformance: suite conformance of Kubernetes v1.37.2\n",
		"| api-machinery | 2 | 1 | 2 | 0 | 1 |\n", "| node | 0 | 0 | 0 | 0 | 1 |\n", "| all | 3 | 1 | 2 | 0 | 2 |\n",
		"| failed | why |\n", "| flaky | why |\n", "| pods have no network | 1 |\n", "| by the test: only for large clusters | 1 |\n",
	} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("no %q in\n%s", line, b.String())
		}
	}
	results := r.Results()
	if len(results) != len(outcomes)+1 || results[0].Verdict != result.Errored || results[1].Verdict != result.Failed || r.Verdict() != result.Errored {
		t.Errorf("%d results, %s", len(results), r.Verdict())
	}
}

// An interruption ends the program, which cleans up; what had ended before counts.
func TestInterrupt(t *testing.T) {
	program, _ := fake(t)
	p := plan(t, program, Choice{Suite: Quick, Focus: regexp.MustCompile("Watchers|should hang|skip itself")})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	outcomes, err := Run(ctx, p, Options{
		Program: program, Kubeconfig: "/dev/null", Dir: t.TempDir(),
		Running: func(text string) {
			if strings.Contains(text, "should hang") {
				cancel()
			}
		},
	})
	var got []result.Verdict
	for _, o := range outcomes {
		got = append(got, o.Verdict)
	}
	if err != nil || !slices.Equal(got, []result.Verdict{result.Passed, result.Interrupted, result.Interrupted}) {
		t.Errorf("%v, %v", got, err)
	}
}

// A result whose name was masked is known all the same.
func TestKnownIsMasked(t *testing.T) {
	p := &Plan{Run: []Spec{{Name: "[sig-apps] StatefulSet Basic StatefulSet functionality works"}}}
	outcomes, err := Run(t.Context(), p, Options{Program: "/no/such", Dir: t.TempDir(), Known: []Outcome{
		{Spec: Spec{Name: "[sig-apps] StatefulSet Basic (masked) functionality works"}, Verdict: result.Passed},
	}})
	if err != nil || len(outcomes) != 1 || outcomes[0].Verdict != result.Passed || outcomes[0].Name != p.Run[0].Name {
		t.Errorf("%+v, %v", outcomes, err)
	}
}

// The test that destroys a node's VM runs last, and asks its caller for it.
func TestDestroy(t *testing.T) {
	program, _ := fake(t)
	p := plan(t, program, Choice{Suite: Nodes, Containers: true})
	if len(p.Run) != 1 {
		t.Fatalf("the plan is %+v", p)
	}
	var destroyed []string
	refuse := errors.New("no such VM")
	for _, tc := range []struct {
		destroy func(context.Context, string) error
		want    string
	}{
		{func(_ context.Context, node string) error { destroyed = append(destroyed, node); return nil }, "passed "},
		{func(context.Context, string) error { return refuse }, "failed no such VM"},
		{nil, "failed the provider is skeleton"},
	} {
		dir := t.TempDir()
		outcomes, err := Run(t.Context(), p, Options{Program: program, Kubeconfig: "/dev/null", Dir: dir, Destroy: tc.destroy})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(outcomes[0].Verdict) + " " + outcomes[0].Message; !strings.HasPrefix(got, tc.want) {
			t.Errorf("got %q, want %q", got, tc.want)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
	if !slices.Equal(destroyed, []string{"worker-1"}) {
		t.Errorf("destroyed %q", destroyed)
	}
	others := plan(t, program, Choice{Suite: Conformance, Containers: true, Focus: regexp.MustCompile("should fail|should do")})
	var order []string
	_, err := Run(t.Context(), &Plan{Run: slices.Concat(p.Run, others.Run)}, Options{
		Program: program, Kubeconfig: "/dev/null", Dir: t.TempDir(), Ended: func(o Outcome, _, _ int) { order = append(order, short([]Spec{o.Spec})...) },
	})
	if err != nil || len(order) < 3 || !slices.Equal(order[:3], []string{"do", "fail [Serial]", "be deleted [Disruptive]"}) {
		t.Errorf("ran %q, %v", order, err)
	}
}

// A run with a focus keeps what an earlier one has of other tests, also of those whose names were masked.
func TestAdd(t *testing.T) {
	outcome := func(name string, v result.Verdict) Outcome { return Outcome{Spec: Spec{Name: name}, Verdict: v} }
	const basic = "[sig-apps] StatefulSet Basic StatefulSet functionality"
	var shapes mask.Mask
	if shapes.String(basic) == basic {
		t.Fatal("the name is not masked, and proves nothing")
	}
	r := Report{Outcomes: []Outcome{outcome("a", result.Passed), outcome(basic, result.Passed)}, Skipped: []Skipped{{Spec{Name: "b"}, "new rule"}}}
	r.Add(Report{
		Outcomes: []Outcome{outcome("a", result.Failed), outcome("b", result.Failed), outcome("c", result.Failed), outcome(shapes.String(basic), result.Failed)},
		Skipped:  []Skipped{{Spec{Name: "a"}, "old rule"}, {Spec{Name: "d"}, "old rule"}},
	})
	var got []string
	for _, o := range r.Outcomes {
		got = append(got, o.Name+" "+string(o.Verdict))
	}
	for _, s := range r.Skipped {
		got = append(got, s.Name+" "+s.Reason)
	}
	if want := []string{"a passed", basic + " passed", "c failed", "b new rule", "d old rule"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
