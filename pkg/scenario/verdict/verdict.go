package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// Check is one check of a release.
type Check struct {
	// Result is that of the release.
	Result *result.Scenario
	// Baseline is that of the baseline; nil if it was not checked.
	Baseline *result.Scenario
	// Known is why the release is known to fail; nil if it is not.
	Known *Known
	// Of is the baseline's program; nil without one.
	Of *Program
	// Must means that its failure always counts.
	Must bool
}

// Rules are what a run judges by.
type Rules struct {
	// Baseline means that the run has one: then only regressions count, and checks that must pass.
	Baseline bool
	// Trends compares with the baseline, and judges as if there was none.
	Trends bool
	// Strict counts every failure.
	Strict bool
}

// Judge returns how the result of a check counts. Without a baseline, failures of known defects are excused. With one, all
// failures are excused that the baseline has too, or that it could not be asked about: a known defect that it does not have is a
// regression, unless the defect shows only sometimes and the baseline is known for it. An error is never excused: it says nothing about the release.
func (r Rules) Judge(c Check) result.Judgment {
	j := result.Judgment{Must: c.Must}
	if c.Known != nil {
		j.Known = c.Known.Why
		j.Issues = slices.Clone(c.Result.Reported)
		if c.Known.Issue != "" {
			j.Issues = []string{c.Known.Issue}
		}
	}
	if c.Baseline != nil {
		j.Baseline = c.Baseline.Verdict
	}
	if r.Baseline || r.Trends {
		j.Trend, j.Note = trend(c.Result, c.Baseline)
		if (j.Trend == result.Regressed || j.Trend == result.Fixed) && c.shared() {
			j.Trend, j.Note = result.Same, "the defect shows only sometimes, and the baseline is known for it, too"
		}
	}
	failed := c.Result.Verdict == result.Failed
	switch {
	case failed && (r.Strict || c.Must):
	case failed && r.Baseline:
		j.Excused = j.Trend != result.Regressed
	case failed:
		j.Excused = j.Known != ""
	case c.Result.Verdict == result.Passed && j.Known != "" && j.Note == "":
		j.Note = "was known to fail, and passes"
	}
	return j
}

// shared reports whether both programs are known for one defect, which does not show each time, and one of them fails with it.
func (c Check) shared() bool {
	if c.Known == nil || c.Known.Sometimes == "" || c.Of == nil || !c.Known.Matches(*c.Of) {
		return false
	}
	return strings.Contains(c.Result.Message, c.Known.Sometimes) || strings.Contains(c.Baseline.Message, c.Known.Sometimes)
}

// trend compares two results, and explains a regression that the two verdicts do not show.
func trend(now, before *result.Scenario) (result.Trend, string) {
	switch {
	case !decided(now):
		if before != nil && before.Verdict == now.Verdict && now.Verdict == result.Skipped {
			return result.Same, ""
		}
		return "", ""
	case before == nil || !decided(before):
		return result.New, ""
	case now.Verdict == result.Passed && before.Verdict == result.Passed:
		return result.Same, ""
	case now.Verdict == result.Passed:
		return result.Fixed, ""
	case before.Verdict == result.Passed:
		return result.Regressed, ""
	}
	if st := firstNewFailure(now, before); st != nil {
		return result.Regressed, fmt.Sprintf("the baseline fails too, but passes step %d (%s %s)", st.Index, st.Action, st.Text)
	}
	return result.Same, ""
}

func decided(s *result.Scenario) bool {
	return s.Verdict == result.Passed || s.Verdict == result.Failed
}

// firstNewFailure returns the first step that fails now and passed before, or nil: a defect that both have must not hide it.
func firstNewFailure(now, before *result.Scenario) *result.Step {
	for i := range now.Steps {
		st := &now.Steps[i]
		if st.Verdict == result.Failed && i < len(before.Steps) && before.Steps[i].Index == st.Index && before.Steps[i].Verdict == result.Passed {
			return st
		}
	}
	return nil
}
