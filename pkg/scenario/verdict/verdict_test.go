package verdict

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// with is a result with a verdict, and one step for each further one.
func with(v result.Verdict, steps ...result.Verdict) *result.Scenario {
	s := &result.Scenario{Verdict: v, Reported: []string{"project#1"}}
	for i, st := range steps {
		s.Steps = append(s.Steps, result.Step{Index: i + 1, Action: "expect", Text: "it", Verdict: st})
	}
	return s
}

// saying is a result with the message of a defect.
func saying(v result.Verdict) *result.Scenario {
	s := with(v)
	s.Message = "exit status 255: fatal error"
	return s
}

func TestJudge(t *testing.T) {
	const passed, failed, errored, skipped, interrupted = result.Passed, result.Failed, result.Errored, result.Skipped, result.Interrupted
	known := &Known{CCM: ">=v1.34.0", Why: "no taint"}
	random := &Known{CCM: ">=v1.34.0", Why: "it races", Sometimes: "fatal"}
	older, oldest := Program{Source: "module:v1.34.0", Version: "v1.34.0"}, Program{Source: "module:v1.33.0", Version: "v1.33.0"}
	const by = "the defect shows only sometimes, and the baseline is known for it, too"
	alone, beside, strict := Rules{}, Rules{Baseline: true}, Rules{Baseline: true, Strict: true}
	for name, tc := range map[string]struct {
		rules         Rules
		now, before   *result.Scenario
		known         *Known
		of            *Program
		must          bool
		shown, counts result.Verdict
		trend         result.Trend
		note          string
	}{
		"passes":                       {rules: alone, now: with(passed), shown: passed, counts: passed},
		"fails":                        {rules: alone, now: with(failed), shown: failed, counts: failed},
		"is known":                     {rules: alone, now: with(failed), known: known, shown: result.Known, counts: passed},
		"is known and must not":        {rules: alone, now: with(failed), known: known, must: true, shown: failed, counts: failed},
		"is known, strictly":           {rules: Rules{Strict: true}, now: with(failed), known: known, shown: failed, counts: failed},
		"was known":                    {rules: alone, now: with(passed), known: known, shown: passed, counts: passed, note: "was known to fail, and passes"},
		"a known one could not run":    {rules: alone, now: with(errored), known: known, shown: errored, counts: errored},
		"was interrupted":              {rules: alone, now: with(interrupted), known: known, shown: interrupted, counts: interrupted},
		"both pass":                    {rules: beside, now: with(passed), before: with(passed), shown: passed, counts: passed, trend: result.Same},
		"both fail":                    {rules: beside, now: with(failed, failed), before: with(failed, failed), shown: failed, counts: passed, trend: result.Same},
		"both fail, known":             {rules: beside, now: with(failed), before: with(failed), known: known, shown: result.Known, counts: passed, trend: result.Same},
		"both fail, it must not":       {rules: beside, now: with(failed), before: with(failed), must: true, shown: failed, counts: failed, trend: result.Same},
		"both fail, strictly":          {rules: strict, now: with(failed), before: with(failed), shown: failed, counts: failed, trend: result.Same},
		"both fail, at another step":   {rules: beside, now: with(failed, failed, failed), before: with(failed, failed, passed), shown: failed, counts: failed, trend: result.Regressed, note: "the baseline fails too, but passes step 2 (expect it)"},
		"both fail, before and behind": {rules: beside, now: with(failed, failed, failed), before: with(failed, failed, skipped), shown: failed, counts: passed, trend: result.Same},
		"fixed":                        {rules: beside, now: with(passed), before: with(failed), shown: passed, counts: passed, trend: result.Fixed},
		"regressed":                    {rules: beside, now: with(failed), before: with(passed), shown: failed, counts: failed, trend: result.Regressed},
		"regressed in a known way":     {rules: beside, now: with(failed), before: with(passed), known: known, shown: failed, counts: failed, trend: result.Regressed},
		"regressed at random":          {rules: beside, now: saying(failed), before: with(passed), known: random, of: &older, shown: result.Known, counts: passed, trend: result.Same, note: by},
		"fixed at random":              {rules: beside, now: with(passed), before: saying(failed), known: random, of: &older, shown: passed, counts: passed, trend: result.Same, note: by},
		"regressed in another way":     {rules: beside, now: with(failed), before: with(passed), known: random, of: &older, shown: failed, counts: failed, trend: result.Regressed},
		"regressed since another one":  {rules: beside, now: saying(failed), before: with(passed), known: random, of: &oldest, shown: failed, counts: failed, trend: result.Regressed},
		"new and passes":               {rules: beside, now: with(passed), shown: passed, counts: passed, trend: result.New},
		"new and fails":                {rules: beside, now: with(failed), before: with(errored), shown: failed, counts: passed, trend: result.New},
		"new and must not fail":        {rules: beside, now: with(failed), must: true, shown: failed, counts: failed, trend: result.New},
		"could not run":                {rules: beside, now: with(errored), before: with(passed), shown: errored, counts: errored},
		"both skipped":                 {rules: beside, now: with(skipped), before: with(skipped), shown: skipped, counts: skipped, trend: result.Same},
		"skipped now":                  {rules: beside, now: with(skipped), before: with(passed), shown: skipped, counts: skipped},
	} {
		s := tc.now
		s.Judgment = tc.rules.Judge(Check{Result: s, Baseline: tc.before, Known: tc.known, Of: tc.of, Must: tc.must})
		got := []any{s.Shown(), s.Counted(), s.Judgment.Trend, s.Judgment.Note}
		if d := cmp.Diff([]any{tc.shown, tc.counts, tc.trend, tc.note}, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if tc.known != nil && !cmp.Equal(s.Judgment.Issues, []string{"project#1"}) {
			t.Errorf("%s: issues %q", name, s.Judgment.Issues)
		}
	}
}

func TestKnown(t *testing.T) {
	release := func(v string) Program { return Program{Source: "module:" + v, Version: v} }
	for _, tc := range []struct {
		pattern string
		ccm     Program
		want    bool
	}{
		{"module:v1.34.*", release("v1.34.0"), true},
		{"module:v1.34.*", release("v1.36.0"), false},
		{"./mine", Program{Source: "./mine"}, true},
		{"module:v1.36.0", Program{Source: "image:x/y:z", Version: "v1.36.0"}, true},
		{"module:v1.36.0", Program{Source: "builtin", Version: "v1.36.0", Own: true}, false},
		{">=v1.34.0", release("v1.34.0"), true},
		{">=v1.34.0", release("v1.34.0-rc.0"), false}, // which is before it
		{">=v1.34.0", release("v1.37.0-rc.0"), true},
		{">=v1.34.0", release("v1.4.0"), false}, // by number, not by letter
		{">=v1.34.0", Program{Source: "./ccm", Version: "v1.37.0-rc.0+dirty"}, true},
		{">=v1.34.0", Program{Source: "./ccm"}, false}, // nothing says that it is upstream's
		{">=v1.34.0", Program{Source: "builtin", Version: "v1.40.0", Own: true}, false},
		{"module:>=v1.34.0 <v1.36.0", release("v1.35.1"), true},
		{"module:>=v1.34.0, <v1.36.0", release("v1.36.0"), false},
		{">v1.34.0 <=v1.36.0", release("v1.34.0"), false},
		{">v1.34.0 <=v1.36.0", release("v1.36.0"), true},
		{">=1.34", release("v1.36.0"), false}, // no range: Check refuses it
	} {
		if got := (Known{CCM: tc.pattern}).Matches(tc.ccm); got != tc.want {
			t.Errorf("%q about %+v: %v", tc.pattern, tc.ccm, got)
		}
	}
	for pattern, ok := range map[string]bool{">=v1.34.0": true, ">=1.34": false, ">= v1.34.0": false, "<v1.x": false, "module:v1.36.0": true, ">=v01.2.3": false} {
		if err := (Known{CCM: pattern}).Check(); (err == nil) != ok {
			t.Errorf("%q: %v", pattern, err)
		}
	}
	list := []Known{{CCM: "module:v1.34.*", Why: "old"}, {CCM: ">=v1.36.0", Why: "new"}}
	if k := Find(list, release("v1.37.0")); k == nil || k.Why != "new" {
		t.Errorf("found %+v", k)
	}
	if k := Find(list, release("v1.35.0")); k != nil {
		t.Errorf("found %+v", k)
	}
}
