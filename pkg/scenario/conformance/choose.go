package conformance

import (
	_ "embed"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// The suites.
const (
	// Quick is the tests of the API machinery that are part of conformance.
	Quick = "quick"
	// Conformance is all tests that are part of conformance.
	Conformance = "conformance"
	// Nodes is what exercises a cloud provider: the life of nodes, taints and eviction, and the test of nodes whose VM is destroyed.
	Nodes = "nodes"
	// Storage is the tests of volumes that need no driver of the cloud, and those of a driver (External Storage).
	Storage = "storage"
)

// Suites are all suites, the shortest first.
func Suites() []string { return []string{Quick, Nodes, Storage, Conformance} }

// Choice says which tests are run.
type Choice struct {
	Suite string
	// Focus and Skip are matched against the whole text of a test; nil for no restriction.
	Focus, Skip *regexp.Regexp
	// Containers means that the cluster runs real containers: of skips.yaml, only the rules for all clusters hold.
	Containers bool
	// Withheld reports whether the machine withholds a capability of Linux, such as "CAP_SYS_RESOURCE". Nil: it withholds none.
	Withheld func(name string) bool
}

// Skipped is a test that the cluster cannot run.
type Skipped struct {
	Spec
	Reason string `json:"reason"`
}

// Plan is what a run has to do.
type Plan struct {
	Suite string
	// Run are the tests to run, in the order of the program.
	Run []Spec
	// Skipped are those of the suite that the cluster cannot run.
	Skipped []Skipped
}

// rule skips tests on a cluster without containers, or everywhere.
type rule struct {
	// Files are patterns of paths below test/e2e.
	Files []string `json:"files"`
	// Label is one that the test has, Match a regular expression of its text. A test is skipped if all that are given hold.
	Label string `json:"label"`
	Match string `json:"match"`
	// Everywhere means that a cluster with containers cannot run it either.
	Everywhere bool `json:"everywhere"`
	// Withheld is a capability of Linux without which it cannot run: the rule holds on machines that withhold it.
	Withheld string `json:"withheld"`
	// Reason is why it cannot run.
	Reason string `json:"reason"`

	match *regexp.Regexp
}

//go:embed skips.yaml
var skipsFile []byte

func rules() ([]rule, error) {
	var file struct {
		Skips []rule `json:"skips"`
	}
	if err := yaml.UnmarshalStrict(skipsFile, &file); err != nil {
		return nil, fmt.Errorf("skips.yaml: %w", err)
	}
	for i := range file.Skips {
		r := &file.Skips[i]
		if r.Reason == "" || len(r.Files) == 0 && r.Label == "" && r.Match == "" {
			return nil, fmt.Errorf("skips.yaml: rule %d is for everything, or has no reason", i+1)
		}
		var err error
		if r.match, err = regexp.Compile(r.Match); err != nil {
			return nil, fmt.Errorf("skips.yaml: rule %d: %w", i+1, err)
		}
	}
	return file.Skips, nil
}

// concerns reports whether the rule is about the cluster and the machine of a choice.
func (r *rule) concerns(c Choice) bool {
	return (r.Everywhere || !c.Containers) && (r.Withheld == "" || c.Withheld != nil && c.Withheld(r.Withheld))
}

func (r *rule) holds(s *Spec) bool {
	in := func(pattern string) bool { ok, err := path.Match(pattern, s.File); return ok && err == nil }
	return (len(r.Files) == 0 || slices.ContainsFunc(r.Files, in)) && (r.Label == "" || s.Has(r.Label)) && r.match.MatchString(s.Name)
}

// part reports whether a test is part of a suite.
func part(suite string, s *Spec) bool {
	conformance := s.Has("Conformance") || strings.Contains(s.Name, "[Conformance]")
	switch suite {
	case Quick:
		return conformance && s.SIG() == "api-machinery" && !s.Has("Serial") && !s.Has("Slow")
	case Conformance:
		return conformance
	case Nodes:
		return s.File == "cloud/nodes.go" || conformance && slices.Contains([]string{"node/node_lifecycle.go", "node/taints.go", "common/node/lease.go", "scheduling/predicates.go", "scheduling/preemption.go"}, s.File)
	case Storage:
		return conformance && s.SIG() == "storage" || strings.Contains(s.Name, "External Storage ")
	}
	return false
}

// Choose returns what is run. An error says that nothing is.
func Choose(specs []Spec, c Choice) (*Plan, error) {
	list, err := rules()
	if err != nil {
		return nil, err
	}
	plan := &Plan{Suite: c.Suite}
	for i := range specs {
		s := &specs[i]
		if !part(c.Suite, s) || c.Focus != nil && !c.Focus.MatchString(s.Name) || c.Skip != nil && c.Skip.MatchString(s.Name) {
			continue
		}
		at := slices.IndexFunc(list, func(r rule) bool { return r.concerns(c) && r.holds(s) })
		if at >= 0 {
			plan.Skipped = append(plan.Skipped, Skipped{*s, list[at].Reason})
		} else {
			plan.Run = append(plan.Run, *s)
		}
	}
	if len(plan.Run)+len(plan.Skipped) == 0 {
		return nil, fmt.Errorf("no test of the suite %s matches", c.Suite)
	}
	return plan, nil
}
