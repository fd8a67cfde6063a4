package smoke

import (
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/glob"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// Checks are the names of the checks of [Run] with a suite, in their order. They are what patterns of [Options.Only] are
// held against.
func Checks(suite []*scenario.Scenario) []string {
	names := []string{versionCheck, upgradeCheck, phasePowerOff, phaseOutage}
	names = append(names, Names(slices.DeleteFunc(slices.Clone(suite), isInstead))...)
	return append(names, leaderCheck, exitCheck)
}

// Names are the names of scenarios as tables have them: with their theme.
func Names(list []*scenario.Scenario) []string {
	var names []string
	for _, s := range list {
		names = append(names, name(&result.Scenario{Name: s.Metadata.Name, Theme: s.Theme}))
	}
	return names
}

// Chosen tells whether a pattern is for a check, by its name or by what of it follows the theme. No patterns are for all.
func Chosen(patterns []string, check string) bool {
	if len(patterns) == 0 {
		return true
	}
	return slices.ContainsFunc(patterns, func(p string) bool {
		return glob.Match(p, check) || glob.Match(p, check[strings.LastIndexByte(check, '/')+1:])
	})
}

// Pick returns the scenarios that a pattern is for, in their order.
func Pick(patterns []string, list []*scenario.Scenario) []*scenario.Scenario {
	var picked []*scenario.Scenario
	for i, name := range Names(list) {
		if Chosen(patterns, name) {
			picked = append(picked, list[i])
		}
	}
	return picked
}

func isInstead(s *scenario.Scenario) bool { return s.Metadata.Name == instead }
