package smoke

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/smoke"
)

// checkOnly refuses patterns that are for none of the checks: what is misspelled is not left out silently.
func (s *settings) checkOnly() error {
	all := s.checks(s.scenarios)
	for _, pattern := range s.only {
		if pattern == "" {
			return report.UsageError("--only 'lifecycle/*'", "--only %q: is no pattern of names", pattern)
		}
		matches := func(name string) bool { return smoke.Chosen([]string{pattern}, name) }
		if slices.ContainsFunc(all, matches) {
			continue
		}
		if s.suite != fullSuite {
			if full, err := s.load(fullSuite); err == nil && slices.ContainsFunc(s.checks(full), matches) {
				return report.UsageError("--suite "+fullSuite, "--only %q: is in the suite %s, not in %s", pattern, fullSuite, s.suite)
			}
		}
		try := "one of " + strings.Join(all, ", ")
		if near := nearest.Of(pattern, all); near != "" {
			try = "--only " + near
		}
		return report.UsageError(try, "--only %q: there is no such check", pattern)
	}
	return nil
}

// completeOnly completes the last name of --only.
func (s *settings) completeOnly(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	before := typed[:strings.LastIndexByte(typed, ',')+1]
	list, err := s.load(s.suite)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var words []string
	for _, name := range s.checks(list) {
		if word := before + name; strings.HasPrefix(word, typed) {
			words = append(words, word)
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}
