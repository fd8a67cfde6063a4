package result

// Change is what an [Update] tells of.
type Change string

// The changes, in the order in which they can come for a scenario.
const (
	ScenarioBegan Change = "scenario-began"
	StepBegan     Change = "step-began"
	// Waiting: the step goes on, and waits for what Text says. Told whenever the text changes.
	Waiting       Change = "waiting"
	StepEnded     Change = "step-ended"
	ScenarioEnded Change = "scenario-ended"
)

// Update is one change of a run, as it happens.
type Update struct {
	Change Change
	// Scenario is what came of it so far; Steps is nil except in ScenarioEnded.
	Scenario Scenario
	// Number counts the scenarios of the run from 1, of Of.
	Number, Of int
	// Step is set in StepBegan, Waiting and StepEnded; Steps is how many there are.
	Step  Step
	Steps int
	// Text is what is being waited for.
	Text string
}
