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
	// Baseline is the cloud controller manager that the results are compared with; "" for none.
	Baseline string
	// Boots are the sandboxes that were started.
	Boots []Boot
	// Tables are further results of the run, such as its numbers of calls.
	Tables []Table
}

// Table is a result in rows and columns.
type Table struct {
	Title string
	// Header names the columns, each row of Rows has as many cells.
	Header []string
	Rows   [][]string
	// Numbers is how many columns after the first hold numbers.
	Numbers int
}

// Verdict is the worst of the scenarios. A failure that [Judgment.Excused] marks counts as passed.
func (s *Suite) Verdict() Verdict {
	all := make([]Verdict, len(s.Scenarios))
	for i := range s.Scenarios {
		all[i] = s.Scenarios[i].Counted()
	}
	return Worst(all...)
}

// Count returns the number of scenarios with a verdict, as [Scenario.Shown] returns it.
func (s *Suite) Count(v Verdict) int {
	n := 0
	for i := range s.Scenarios {
		if s.Scenarios[i].Shown() == v {
			n++
		}
	}
	return n
}

// CountTrend returns the number of scenarios with a trend.
func (s *Suite) CountTrend(t Trend) int {
	n := 0
	for i := range s.Scenarios {
		if s.Scenarios[i].Judgment.Trend == t {
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
	// Judgment is how the verdict counts; the zero value for a run that compares with nothing.
	Judgment Judgment
	Began    time.Time
	Took     time.Duration

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

// Counted is the verdict as it counts for the run: an excused failure has passed.
func (s *Scenario) Counted() Verdict {
	if s.Verdict == Failed && s.Judgment.Excused {
		return Passed
	}
	return s.Verdict
}

// Shown is the verdict for readers: [Known] for a failure that is excused because its defect is known.
func (s *Scenario) Shown() Verdict {
	if s.Verdict == Failed && s.Judgment.Excused && s.Judgment.Known != "" {
		return Known
	}
	return s.Verdict
}

// Judgment is how a verdict counts, as package verdict decides it.
type Judgment struct {
	// Trend compares it with the baseline; "" without one, or if it could not be compared.
	Trend Trend
	// Baseline is the verdict of the baseline; "" for none.
	Baseline Verdict
	// Known is the defect of which it is known to fail, Issues are the reports of that defect.
	Known  string
	Issues []string
	// Must means that its failure always counts.
	Must bool
	// Excused means that a failure does not count.
	Excused bool
	// Note explains the judgment on one line, or is "".
	Note string
}

// Trend compares a check with the same check of a baseline.
type Trend string

// The trends.
const (
	// Same: both passed, or both failed.
	Same Trend = "same"
	// Fixed: the baseline failed.
	Fixed Trend = "fixed"
	// Regressed: the baseline passed, or passed the step that fails now.
	Regressed Trend = "regressed"
	// New: the baseline has no verdict to compare with.
	New Trend = "new"
)

// Trends are all trends, the worst first.
func Trends() []Trend { return []Trend{Regressed, Fixed, Same, New} }

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
	// Interrupted: it was running, or had not begun, when the user ended the run.
	Interrupted Verdict = "interrupted"
	// Skipped: not run, because an earlier step did not pass, or the ground lacks what it needs.
	Skipped Verdict = "skipped"
	// Known is how an excused failure of a known defect is shown: see [Scenario.Shown]. No runner sets it.
	Known Verdict = "known"
)

// Verdicts are all verdicts of something that has ended, in the order in which they are counted for readers.
func Verdicts() []Verdict {
	return []Verdict{Passed, Failed, Errored, Interrupted, Known, Skipped}
}

// OK reports whether the verdict is no failure: passed, or skipped for something that the ground lacks.
func (v Verdict) OK() bool { return v == Passed || v == Skipped }

// weight orders verdicts: the highest one counts.
func (v Verdict) weight() int {
	switch v {
	case Errored:
		return 5
	case Failed:
		return 4
	case Interrupted:
		return 3
	case Running:
		return 2
	case Passed:
		return 1
	}
	return 0
}

// Worst returns the verdict on all of them: errored, failed, interrupted, then any other. Skipped ones count only if there are no others.
func Worst(all ...Verdict) Verdict {
	worst := Skipped
	for _, v := range all {
		if v.weight() > worst.weight() {
			worst = v
		}
	}
	return worst
}
