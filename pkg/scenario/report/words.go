package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// Headline is the verdict on a run in a few words, "passed, 3 known failures"; with a baseline about regressions: "2 regressed".
func Headline(s *result.Suite) string {
	v := s.Verdict()
	switch {
	case v == result.Failed && s.CountTrend(result.Regressed) > 0:
		return fmt.Sprintf("%d regressed", s.CountTrend(result.Regressed))
	case v != result.Passed && v != result.Skipped:
		return string(v)
	case s.Baseline != "":
		return "no regression"
	}
	switch n := s.Count(result.Known); n {
	case 0:
		return string(v)
	case 1:
		return "passed, 1 known failure"
	default:
		return fmt.Sprintf("passed, %d known failures", n)
	}
}

// Sum counts the scenarios by verdict: "12 scenarios: 10 passed, 1 failed, 1 known".
func Sum(s *result.Suite) string { return Counted(s, "scenario") }

// Counted is [Sum] with another word for a scenario.
func Counted(s *result.Suite, noun string) string {
	if len(s.Scenarios) != 1 {
		noun += "s"
	}
	var counts []string
	for _, v := range result.Verdicts() {
		if n := s.Count(v); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, v))
		}
	}
	text := fmt.Sprintf("%d %s", len(s.Scenarios), noun)
	if counts == nil {
		return text
	}
	return text + ": " + strings.Join(counts, ", ")
}

// Trends counts the scenarios by trend, "1 regressed, 2 fixed, 9 same, 0 new"; "" without a baseline.
func Trends(s *result.Suite) string {
	if s.Baseline == "" {
		return ""
	}
	var counts []string
	for _, t := range result.Trends() {
		counts = append(counts, fmt.Sprintf("%d %s", s.CountTrend(t), t))
	}
	return strings.Join(counts, ", ")
}

// Word is the verdict on a scenario with its glyph: "✗ known".
func Word(s *result.Scenario) string { return Glyph(s.Shown()) + " " + string(s.Shown()) }

// Excuse says why the failure of a scenario does not count; "" if it does, or did not fail.
func Excuse(s *result.Scenario) string {
	switch j := s.Judgment; {
	case s.Verdict != result.Failed || !j.Excused:
		return ""
	case j.Known != "":
		return "known: " + Defect(j)
	case j.Trend == result.New:
		return "new: the baseline cannot be compared"
	}
	return "same: the baseline fails, too"
}

// Judged says how a verdict counts, beside a baseline or a known defect; "" where that is plain.
func Judged(s *result.Scenario) string {
	parts := []string{Excuse(s)}
	if s.Verdict == result.Failed && !s.Judgment.Excused {
		if s.Judgment.Must {
			parts = append(parts, "must pass")
		}
		if s.Judgment.Known != "" {
			parts = append(parts, "known: "+Defect(s.Judgment))
		}
	}
	parts = append(parts, s.Judgment.Note)
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "; ")
}

// Defect is the known defect of a judgment, with its reports.
func Defect(j result.Judgment) string {
	if len(j.Issues) == 0 {
		return j.Known
	}
	return j.Known + " (" + strings.Join(j.Issues, ", ") + ")"
}

// Defects are the known defects that made scenarios fail and do not count, each with the names of those scenarios, in their order.
func Defects(s *result.Suite) []KnownDefect {
	var all []KnownDefect
	at := map[string]int{}
	for i := range s.Scenarios {
		sc := &s.Scenarios[i]
		if sc.Shown() != result.Known {
			continue
		}
		n, ok := at[sc.Judgment.Known]
		if !ok {
			n = len(all)
			at[sc.Judgment.Known] = n
			all = append(all, KnownDefect{Why: sc.Judgment.Known})
		}
		d := &all[n]
		name := sc.Name
		if sc.Theme != "" && sc.Theme != s.Name {
			name = sc.Theme + "/" + name
		}
		d.Scenarios = append(d.Scenarios, name)
		for _, issue := range sc.Judgment.Issues {
			if !slices.Contains(d.Issues, issue) {
				d.Issues = append(d.Issues, issue)
			}
		}
	}
	return all
}

// KnownDefect is a defect that is known, and what fails because of it.
type KnownDefect struct {
	Why               string
	Issues, Scenarios []string
}
