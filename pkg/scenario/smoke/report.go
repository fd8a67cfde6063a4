package smoke

import (
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// Report is what came of it.
type Report struct {
	// Suite has a scenario for each check, in their order, those made of code too.
	Suite result.Suite
	// Known says why a check that did not pass was known not to, by its name.
	Known map[string]string
	// Phases are the calls to the vCenters.
	Phases []Phase
	CCM    CCM
	// Baseline is nil when none was given.
	Baseline *CCM
	Strict   bool
	// Only are the patterns of the checks that were made; none: all were.
	Only []string
}

// Verdict is what it comes to: known failures do not count, unless it is strict.
func (r *Report) Verdict() result.Verdict {
	var all []result.Verdict
	for i := range r.Suite.Scenarios {
		s := &r.Suite.Scenarios[i]
		if !r.Strict && r.known(s) != "" {
			continue
		}
		all = append(all, s.Verdict)
	}
	if len(all) == 0 && len(r.Suite.Scenarios) > 0 {
		return result.Passed // all that there is was known
	}
	return result.Worst(all...)
}

// known is why a check that failed was known to; "" for all others. What could not be run says nothing of a release.
func (r *Report) known(s *result.Scenario) string {
	if s.Verdict != result.Failed {
		return ""
	}
	return r.Known[s.Name]
}

// Told is the suite as other programs are to judge it: what was known to fail is skipped, with its reason, unless it is
// strict.
func (r *Report) Told() *result.Suite {
	suite := r.Suite
	suite.Scenarios = told(r.Suite.Scenarios, r.Known, r.CCM, r.Strict)
	return &suite
}

// Told are the scenarios of a column as [Report.Told] has them.
func (c *Column) Told(strict bool) []result.Scenario {
	return told(c.Suite.Scenarios, c.Known, c.CCM, strict)
}

func told(list []result.Scenario, known map[string]string, c CCM, strict bool) []result.Scenario {
	list = slices.Clone(list)
	for i := range list {
		s := &list[i]
		if why := known[s.Name]; why != "" && s.Verdict == result.Failed && !strict {
			s.Verdict, s.Message = result.Skipped, "known to fail with "+c.String()+": "+why+"; found: "+s.Message
		}
	}
	return list
}
