package proof

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/mutants"
)

var (
	only = flag.String("only", "", "run the mutants of which this regular expression is found in the name, and no other")
	// A step that fails takes its whole time, and nearly every run here has one.
	patience = flag.Float64("patience", 0.3, "what every time limit of the scenarios is multiplied with")
)

// TestMutants proves that the scenarios which are named by mutants would fail if the provider broke.
func TestMutants(t *testing.T) {
	g := newGround(t)
	chosen := choose(t)
	rows := &table{began: time.Now()}
	t.Cleanup(func() { rows.print(os.Stdout) })

	sound := t.Run("sound", func(t *testing.T) {
		with := g.build(t, mutants.Mutant{})
		got := g.run(t, with, false, scenariosOf(chosen...))
		for _, name := range scenariosOf(chosen...) {
			s := g.of(t, got, name)
			if err := mutants.Passed(s); err != nil {
				t.Errorf("%s, with the provider as it is: %v", name, err)
			}
		}
	})
	if !sound {
		return // nothing that fails from here on would prove anything
	}
	for _, m := range chosen {
		t.Run(m.Name, func(t *testing.T) {
			with := g.build(t, m)
			got := g.run(t, with, true, scenariosOf(m))
			for _, c := range m.Caught {
				s := g.of(t, got, c.Scenario)
				step, err := c.Judge(s)
				rows.add(m, c, s, step, err)
				if err != nil {
					t.Errorf("%s: %v", m.Breaks, err)
				}
			}
		})
	}
}

// choose returns the mutants that are asked for.
func choose(t *testing.T) []mutants.Mutant {
	t.Helper()
	want, err := regexp.Compile(*only)
	if err != nil {
		t.Fatal(err)
	}
	chosen := slices.DeleteFunc(mutants.All(), func(m mutants.Mutant) bool { return !want.MatchString(m.Name) })
	if len(chosen) == 0 {
		t.Fatalf("-only %s: there is no such mutant", *only)
	}
	return chosen
}

// scenariosOf returns the scenarios that catch mutants, each once.
func scenariosOf(of ...mutants.Mutant) []string {
	var names []string
	for _, m := range of {
		for _, c := range m.Caught {
			if !slices.Contains(names, c.Scenario) {
				names = append(names, c.Scenario)
			}
		}
	}
	return names
}
