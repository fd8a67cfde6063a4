package scenario

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/source"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// choice says which scenarios are to be run.
type choice struct {
	words []string // names, themes, files
	suite string
	all   bool
}

func (c choice) validate() error {
	given := 0
	for _, is := range []bool{len(c.words) > 0, c.suite != "", c.all} {
		if is {
			given++
		}
	}
	switch given {
	case 0:
		return report.UsageError("vsphere-sandbox scenario run --suite core", "scenario run needs a NAME, THEME or FILE, --suite, or --all")
	case 1:
		return nil
	}
	return report.UsageError("vsphere-sandbox scenario run --all", "NAME, THEME or FILE, --suite and --all exclude each other")
}

// name is what the run is called.
func (c choice) name() string {
	switch {
	case c.suite != "":
		return c.suite
	case c.all:
		return "all"
	case len(c.words) == 1:
		return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(c.words[0]), ".yaml"), ".yml")
	}
	return "scenarios"
}

// load returns the chosen scenarios in the order of the words, none twice. Settings are for those that have the parameter;
// every setting has to be for one of them.
func (c choice) load(from catalogue, set source.Settings) ([]*scenario.Scenario, error) {
	var list []*scenario.Scenario
	var bad []error
	seen := map[string]bool{}
	add := func(s *scenario.Scenario, err error) {
		switch {
		case err != nil:
			bad = append(bad, err)
		case !seen[s.File]:
			seen[s.File] = true
			list = append(list, s)
		}
	}
	used := map[string]bool{}
	for _, w := range c.words {
		found := from.find(w)
		if len(found) == 0 {
			add(apply(set, used, func(set source.Settings) (*scenario.Scenario, error) {
				s, err := scenario.LoadFile(w, set...)
				if errors.Is(err, fs.ErrNotExist) {
					return nil, from.unknown("run", w, err)
				}
				return s, unusableOf(w, err)
			}))
		}
		for _, e := range found {
			add(apply(set, used, func(set source.Settings) (*scenario.Scenario, error) { return from.load(e, set) }))
		}
	}
	if c.suite != "" || c.all {
		for _, e := range from.entries() {
			s, err := apply(set, used, func(set source.Settings) (*scenario.Scenario, error) { return from.load(e, set) })
			if err != nil || c.all || inSuite(s, c.suite) {
				add(s, err)
			}
		}
	}
	if err := source.Joined(bad); err != nil {
		return nil, err
	}
	for _, one := range set {
		if !used[one.Name] {
			return nil, report.UsageError("vsphere-sandbox scenario show "+c.name(), "--set %s: no scenario that was chosen has such a parameter", one.Name)
		}
	}
	if len(list) == 0 {
		return nil, report.UsageError("vsphere-sandbox scenario list", "there is no scenario in suite %q", c.name())
	}
	return list, nil
}

func inSuite(s *scenario.Scenario, suite string) bool { return slices.Contains(suites(s), suite) }

func unusableOf(name string, err error) error {
	if err == nil {
		return nil
	}
	return unusable(name, err)
}

// apply loads a scenario with those settings that it has parameters for.
func apply(set source.Settings, used map[string]bool, load func(source.Settings) (*scenario.Scenario, error)) (*scenario.Scenario, error) {
	s, err := load(nil)
	if err != nil || len(set) == 0 {
		if err == nil || len(set) == 0 {
			return s, err
		}
		// A parameter that must be given makes it unusable without.
		if s, err := load(set); err == nil {
			return mark(s, set, used), nil
		}
		return nil, err
	}
	fits := slices.DeleteFunc(slices.Clone(set), func(one topology.Setting) bool {
		_, has := s.Values[one.Name]
		return !has
	})
	if len(fits) == 0 {
		return s, nil
	}
	if s, err = load(fits); err != nil {
		return nil, err
	}
	return mark(s, fits, used), nil
}

func mark(s *scenario.Scenario, set source.Settings, used map[string]bool) *scenario.Scenario {
	for _, one := range set {
		used[one.Name] = true
	}
	return s
}
