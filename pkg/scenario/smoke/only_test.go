package smoke

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
)

// What is not chosen is not made, and boots nothing; the heading says that this is not all.
func TestOnly(t *testing.T) {
	for _, tc := range []struct {
		only     string
		baseline bool
		want     string
		boots    int
		measured bool
	}{
		{"version", false, "version", 0, false},
		{"clean-exit", false, "clean-exit", 1, false},
		{"upgrade,leader-*", true, "upgrade,leader-lost", 3, false},
		{"upgrade", false, "upgrade", 0, false}, // which is skipped, and says why
		{"good,version", true, "version,good", 2, false},
		{"calls-power-off,clean-exit", true, "calls-power-off,clean-exit", 2, true},
	} {
		t.Run(tc.only, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := Options{Program: Program{Source: "./mine"}, Suite: []*scenario.Scenario{parse(t, good), parse(t, bad)}, Only: strings.Split(tc.only, ",")}
				if tc.baseline {
					o.Baseline = &Program{Source: "builtin", Own: true}
				}
				last := ""
				o.Progress = func(format string, _ ...any) { last = format }
				r, boots, stops := judge(t, o, nil)
				var made []string
				for i := range r.Suite.Scenarios {
					made = append(made, r.Suite.Scenarios[i].Name)
				}
				if diff := cmp.Diff(tc.want, strings.Join(made, ",")); diff != "" || boots != tc.boots || stops != boots {
					t.Errorf("%d boots, %d stops, (-want +got):\n%s\n%s", boots, stops, diff, last)
				}
				if got := r.Phases[0].Release != nil; got != tc.measured {
					t.Errorf("calls counted: %v", got)
				}
				var b strings.Builder
				if err := Table(&b, r); err != nil {
					t.Fatal(err)
				}
				if head, _, _ := strings.Cut(b.String(), "\n"); !strings.HasSuffix(head, " (only "+strings.Join(o.Only, ", ")+")") {
					t.Error(head)
				}
			})
		})
	}
}

func TestChecks(t *testing.T) {
	core, err := Suite("core")
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Join(Checks(core), " ")
	for _, want := range []string{"version installation upgrade calls-power-off calls-outage ", " lifecycle/power-off ", " leader-lost clean-exit rights"} {
		if !strings.Contains(names, want) {
			t.Errorf("%q is not in %s", want, names)
		}
	}
	for _, tc := range []struct {
		pattern, check string
		want           bool
	}{
		{"power-off", "lifecycle/power-off", true},
		{"lifecycle/*", "lifecycle/power-off", true},
		{"*", "lifecycle/power-off", true},
		{"power-off", "calls-power-off", false},
		{"lifecycle", "lifecycle/power-off", false},
		{"[ab]", "a", false},
	} {
		if got := Chosen([]string{tc.pattern}, tc.check); got != tc.want {
			t.Errorf("%q for %s: %v", tc.pattern, tc.check, got)
		}
	}
}
