package smoke

import (
	"context"
	"errors"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// check is a check in code, reported like a scenario.
type check struct {
	s           result.Scenario
	observe     func(result.Update)
	number, of  int
	steps, done int
}

// begin reports the start of a check with so many steps.
func (r *run) begin(name, description string, steps int) *check {
	r.number++
	c := &check{observe: r.o.Observe, number: r.number, of: r.of, steps: steps, s: result.Scenario{
		Name: name, Theme: theme, Description: description, Began: time.Now(), Seed: r.o.Seed, Speed: r.o.Speed,
		CCM: r.o.CCM.Source, CCMVersion: r.o.CCM.Version,
	}}
	c.notify(result.ScenarioBegan, result.Step{})
	return c
}

func (c *check) notify(change result.Change, step result.Step) {
	u := result.Update{Change: change, Scenario: c.s, Step: step, Number: c.number, Of: c.of, Steps: c.steps}
	if change != result.ScenarioEnded {
		u.Scenario.Steps = nil
	}
	c.observe(u)
}

// errNot is the error of a step whose check failed.
type errNot struct{ what string }

func (e errNot) Error() string { return e.what }

// errSkip is the error of a step without anything to check.
type errSkip struct{ why string }

func (e errSkip) Error() string { return e.why }

// step runs one step, which returns what it found.
func (c *check) step(ctx context.Context, action, text string, do func(context.Context) (found string, err error)) {
	c.done++
	step := result.Step{Index: c.done, Action: action, Text: text, Began: time.Now()}
	c.notify(result.StepBegan, step)
	found, err := "", ctx.Err()
	if err == nil {
		found, err = do(ctx)
	}
	step.Took = time.Since(step.Began)
	step.Verdict, step.Message = result.Passed, found
	var not errNot
	var skip errSkip
	switch {
	case errors.As(err, &skip):
		step.Verdict, step.Message = result.Skipped, err.Error()
	case errors.As(err, &not):
		step.Verdict, step.Message = result.Failed, err.Error()
	case ctx.Err() != nil:
		step.Verdict, step.Message = result.Skipped, "interrupted"
	case err != nil:
		step.Verdict, step.Message = result.Errored, err.Error()
	}
	c.s.Steps = append(c.s.Steps, step)
	c.notify(result.StepEnded, step)
}

// end sets the verdict: the worst of the steps. The message is that of the deciding step, or else of the last.
func (c *check) end() result.Scenario {
	var all []result.Verdict
	for _, st := range c.s.Steps {
		all = append(all, st.Verdict)
	}
	c.s.Verdict = result.Worst(all...)
	for _, st := range c.s.Steps {
		if st.Verdict == c.s.Verdict {
			c.s.Message = st.Message
			if c.s.Verdict != result.Passed {
				break
			}
		}
	}
	c.s.Took = time.Since(c.s.Began)
	c.notify(result.ScenarioEnded, result.Step{})
	return c.s
}
