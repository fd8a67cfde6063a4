package mutants

import (
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/document"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

func TestJudge(t *testing.T) {
	c := Caught{Scenario: "lifecycle/power-off", Step: "never event node.deleted|expect node .*taints"}
	never := document.Step{Action: "never", Text: "event node.deleted until end", Line: 19}
	expect := document.Step{Action: "expect", Text: "node worker-1: ready True", Line: 26}
	with := func(s document.Step, v result.Verdict) document.Step {
		s.Verdict = v
		return s
	}
	for name, tc := range map[string]struct {
		verdict result.Verdict
		steps   []document.Step
		step    int // the line of the one that caught it
		err     string
	}{
		"caught":       {result.Failed, []document.Step{with(never, result.Failed), with(expect, result.Failed)}, 19, ""},
		"survives":     {result.Passed, []document.Step{with(never, result.Passed)}, 0, "the mutant survives"},
		"elsewhere":    {result.Failed, []document.Step{with(never, result.Passed), with(expect, result.Failed)}, 26, "fails elsewhere, at line 26"},
		"before":       {result.Failed, []document.Step{with(expect, result.Failed), with(never, result.Failed)}, 26, "fails elsewhere"},
		"could not be": {result.Errored, []document.Step{with(never, result.Errored)}, 0, "could not tell"},
		"not run":      {result.Skipped, nil, 0, "could not tell"},
		"no step":      {result.Failed, []document.Step{with(never, result.Passed)}, 0, "no step of it did"},
	} {
		t.Run(name, func(t *testing.T) {
			step, err := c.Judge(document.Scenario{Verdict: tc.verdict, Steps: tc.steps})
			if step.Line != tc.step || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("got line %d, %v", step.Line, err)
			}
		})
	}
	if err := Passed(document.Scenario{Verdict: result.Passed}); err != nil {
		t.Error(err)
	}
	if err := Passed(document.Scenario{Verdict: result.Errored, Message: "no boot"}); err == nil {
		t.Error("what could not be run has passed")
	}
}
