package mutants

import (
	"fmt"
	"slices"
	"strings"
)

// Mutant is the provider with one thing broken.
type Mutant struct {
	// Name is in lower case, with hyphens.
	Name string
	// Breaks says what is no longer so.
	Breaks string
	// File is the source that is changed, from the root of the module. Old is in it exactly once, and New takes its place.
	File, Old, New string
	// Caught are the scenarios that fail with it, at least one.
	Caught []Caught
}

// sandboxBalancer is what plays the provider of load balancers where a topology has no NSX.
const sandboxBalancer = "pkg/sandbox/loadbalancer/"

// OfSandbox reports whether the mutant is one of the sandbox's own load balancer, so that it is another program: the sandbox.
func (m Mutant) OfSandbox() bool { return strings.HasPrefix(m.File, sandboxBalancer) }

// Caught is how a scenario fails with a mutant.
type Caught struct {
	// Scenario is its theme and name: lifecycle/power-off.
	Scenario string
	// Step is a regular expression, found in the first step that does not pass: "never event node.deleted".
	Step string
}

// All are all mutants, by what they break.
func All() []Mutant {
	return slices.Concat(existence(), shutdown(), identity(), zones(), addresses(), connections(), guest(), balancers())
}

// Apply returns the source with the mutant's change.
func (m Mutant) Apply(source string) (string, error) {
	if n := strings.Count(source, m.Old); n != 1 {
		return "", fmt.Errorf("mutant %s: %s: what it changes is there %d times, not once: %q", m.Name, m.File, n, m.Old)
	}
	return strings.Replace(source, m.Old, m.New, 1), nil
}

// Path is where the scenario is, from the root of the module.
func (c Caught) Path() string { return "scenarios/" + c.Scenario + ".yaml" }
