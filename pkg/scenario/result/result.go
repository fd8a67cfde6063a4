package result

import (
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Suite is one run of scenarios, in the order in which they ran.
type Suite struct {
	// Name is the request: "core", a theme, or the name of a single scenario.
	Name      string
	Scenarios []Scenario
	Began     time.Time
	Took      time.Duration
	// Seed is that of the run; a scenario may have its own.
	Seed  uint64
	Speed float64
	// CCM is the requested cloud controller manager ("builtin", "module:v1.36.0"), CCMVersion the version that it reports.
	CCM        string
	CCMVersion string
	// Version is this program's, KubernetesVersion the control plane's.
	Version           string
	KubernetesVersion string
	// Boots are the sandboxes that were started.
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

// Boot is the start of a sandbox for a run.
type Boot struct {
	Name     string
	Topology string
	Began    time.Time
	Took     time.Duration
	// Error is why it did not start.
	Error string
}

// Scenario is the result of one scenario.
type Scenario struct {
	Name string
	// Theme is its folder: lifecycle, zones; "" for a file of the user's.
	Theme string
	// File is the path of its file.
	File        string
	Description string
	// Reported are the reports of the problem: "cloud-provider-vsphere#642".
	Reported []string

	Verdict Verdict
	// Message is the reason of a failure, on one line.
	Message string
	Began   time.Time
	Took    time.Duration

	Seed  uint64
	Speed float64
	// CCM and CCMVersion are as in [Suite].
	CCM        string
	CCMVersion string
	// Sandbox is the name of its sandbox.
	Sandbox string
	// Parameters are those of the scenario, with their values.
	Parameters map[string]string

	Steps []Step
	// Events are those of the log during the run, oldest first, and their causes; Lost counts missed ones.
	Events []event.Event
	Lost   uint64
	// World is the state at the verdict, before healing.
	World World
	// Calls are those to the vCenters during the run.
	Calls []api.Calls
}

// World is the state of a sandbox.
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

// Step is the result of one step.
type Step struct {
	// Index is its number from 1; Line is its line in the file.
	Index, Line int
	// Action is inject, heal, wait, expect, never, run, set or note.
	Action string
	// Text describes it on one line.
	Text string

	Verdict Verdict
	Began   time.Time
	Took    time.Duration
	// Latency is the time between its cause (the last injection, healing or mark before it) and the awaited event; 0 if unknown. It
	// is measured between events, so that it does not depend on the beginning of the step.
	Latency time.Duration
	// Event is the one that decided it, or 0.
	Event uint64
	// Message is the reason of a failure, or what was found, on one line.
	Message string
	// Detail is more of it, on several lines: a difference, the output of a command.
	Detail string
}

// Change is the kind of an [Update].
type Change string

// The changes, in their order for a scenario.
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
	// Scenario is its result so far; Steps is nil except in ScenarioEnded.
	Scenario Scenario
	// Number counts the scenarios of the run from 1, of Of.
	Number, Of int
	// Step is set in StepBegan, Waiting and StepEnded; Steps is their number.
	Step  Step
	Steps int
	// Text describes what the step waits for.
	Text string
}

// Verdict is the verdict on a step or a scenario.
type Verdict string

// The verdicts. A running step or scenario has none yet.
const (
	Running Verdict = ""
	Passed  Verdict = "passed"
	// Failed: it ran, and an expectation was not met.
	Failed Verdict = "failed"
	// Errored: it could not run: a fault was refused, the sandbox ended.
	Errored Verdict = "errored"
	// Skipped: not run, because an earlier step did not pass, or the ground lacks what it needs.
	Skipped Verdict = "skipped"
)

// OK reports whether the verdict is no failure: passed, or skipped for something that the ground lacks.
func (v Verdict) OK() bool { return v == Passed || v == Skipped }

// weight orders verdicts: the highest one counts.
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

// Worst returns the verdict on all of them: errored, then failed, then any other. Skipped ones count only if there are no others.
func Worst(all ...Verdict) Verdict {
	worst := Skipped
	for _, v := range all {
		if v.weight() > worst.weight() {
			worst = v
		}
	}
	return worst
}
