package result

import (
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Suite is one run of scenarios, in the order in which they ran.
type Suite struct {
	// Name is what was asked for: "core", a theme, or the scenario if it was only one.
	Name      string
	Scenarios []Scenario
	Began     time.Time
	Took      time.Duration
	// Seed is that of the run; a scenario may have its own.
	Seed  uint64
	Speed float64
	// CCM says which cloud controller manager was asked for ("builtin", "module:v1.36.0"), CCMVersion what it says it is.
	CCM        string
	CCMVersion string
	// Version is this program's, KubernetesVersion the control plane's.
	Version           string
	KubernetesVersion string
	// Boots are the sandboxes that were started for it.
	Boots []Boot
}

// Verdict is the worst of the scenarios.
func (s *Suite) Verdict() Verdict {
	all := make([]Verdict, len(s.Scenarios))
	for i := range s.Scenarios {
		all[i] = s.Scenarios[i].Verdict
	}
	return Worst(all...)
}

// Count returns the number of scenarios with a verdict.
func (s *Suite) Count(v Verdict) int {
	n := 0
	for i := range s.Scenarios {
		if s.Scenarios[i].Verdict == v {
			n++
		}
	}
	return n
}

// Boot is a sandbox that was started for a run.
type Boot struct {
	Name     string
	Topology string
	Began    time.Time
	Took     time.Duration
	// Error is why it did not come up.
	Error string
}

// Scenario is what came of one scenario.
type Scenario struct {
	Name string
	// Theme is the folder it is in: lifecycle, zones; "" for a file of the user's.
	Theme string
	// File is where it was read from.
	File        string
	Description string
	// Reported are the places where people met what it is about: "cloud-provider-vsphere#642".
	Reported []string

	Verdict Verdict
	// Message says in one line why it did not pass.
	Message string
	Began   time.Time
	Took    time.Duration

	Seed  uint64
	Speed float64
	// CCM and CCMVersion are as in [Suite].
	CCM        string
	CCMVersion string
	// Sandbox is the name of the one it ran on.
	Sandbox string
	// Parameters are those of the scenario, with the values they had.
	Parameters map[string]string

	Steps []Step
	// Events are those of the log from its beginning to its end, oldest first, and the causes of these; Lost counts those
	// that were missed.
	Events []event.Event
	Lost   uint64
	// World is how everything was when the verdict was given, before anything was healed.
	World World
	// Calls are those to the vCenters while it ran.
	Calls []api.Calls
}

// World is what a sandbox looks like.
type World struct {
	Nodes       []api.Node
	VMs         []api.VM
	Hosts       []api.Host
	VCenters    []api.VCenter
	Components  []api.Component
	Volumes     []api.Volume
	Attachments []api.Attachment
	Leases      []api.Lease
}

// Step is what came of one step.
type Step struct {
	// Index is its number from 1; Line is where it stands in the file.
	Index, Line int
	// Action is inject, heal, wait, expect, never, run, set or note.
	Action string
	// Text says in one line what it does.
	Text string

	Verdict Verdict
	Began   time.Time
	Took    time.Duration
	// Latency is how long after what it waits on (the last injection, healing or mark before it) the awaited thing
	// happened; 0 when that is not known. It is of events, so that it does not depend on when the step began.
	Latency time.Duration
	// Event is the one that decided it; 0 when none did.
	Event uint64
	// Message says in one line what was found: why it did not pass, or by what it did.
	Message string
	// Detail is more of it, of several lines: a difference, the output of a command.
	Detail string
}

// Change is the kind of an [Update].
type Change string

// The changes, in the order in which they can come for a scenario.
const (
	ScenarioBegan Change = "scenario-began"
	StepBegan     Change = "step-began"
	// Waiting: the step waits for what Text describes. Sent whenever the text changes.
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

// Verdict is what is said of a step or a scenario.
type Verdict string

// The verdicts. A step or scenario that has begun and not ended has none yet.
const (
	Running Verdict = ""
	Passed  Verdict = "passed"
	// Failed: it ran, and an expectation was not met.
	Failed Verdict = "failed"
	// Errored: it could not be run: a fault was refused, the sandbox went away.
	Errored Verdict = "errored"
	// Skipped: not run, for something before it did not pass, or the ground lacks what it needs.
	Skipped Verdict = "skipped"
)

// Fine reports whether the verdict is no failure: passed, or skipped for something that the ground lacks.
func (v Verdict) Fine() bool { return v == Passed || v == Skipped }

// weight orders verdicts: of several the heaviest counts.
func (v Verdict) weight() int {
	switch v {
	case Errored:
		return 4
	case Failed:
		return 3
	case Running:
		return 2
	case Passed:
		return 1
	}
	return 0
}

// Worst is the verdict on all of them together: errored before failed, failed before anything else. What was skipped does
// not count, unless there is nothing else.
func Worst(all ...Verdict) Verdict {
	worst := Skipped
	for _, v := range all {
		if v.weight() > worst.weight() {
			worst = v
		}
	}
	return worst
}
