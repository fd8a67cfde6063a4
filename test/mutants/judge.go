package mutants

import (
	"fmt"
	"regexp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/document"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// Passed returns what is wrong with a scenario that has to pass, nil when it did.
func Passed(got document.Scenario) error {
	if got.Verdict == result.Passed {
		return nil
	}
	return fmt.Errorf("it %s: %s", got.Verdict, got.Message)
}

// Judge returns the step of a scenario that caught a mutant. An error says that it did not, or not as it should.
func (c Caught) Judge(got document.Scenario) (document.Step, error) {
	want, err := regexp.Compile(c.Step)
	if err != nil {
		return document.Step{}, err
	}
	switch got.Verdict {
	case result.Failed:
	case result.Passed:
		return document.Step{}, fmt.Errorf("the mutant survives: %s is too weak", c.Scenario)
	default:
		return document.Step{}, fmt.Errorf("%s could not tell: it is %q: %s", c.Scenario, got.Verdict, got.Message)
	}
	for _, s := range got.Steps {
		if s.Verdict == result.Passed || s.Verdict == result.Skipped {
			continue
		}
		if said := s.Action + " " + s.Text; !want.MatchString(said) || s.Verdict != result.Failed {
			return s, fmt.Errorf("%s fails elsewhere, at line %d, which is %q: %s: %s", c.Scenario, s.Line, s.Verdict, said, s.Message)
		}
		return s, nil
	}
	return document.Step{}, fmt.Errorf("%s failed and no step of it did: %s", c.Scenario, got.Message)
}
