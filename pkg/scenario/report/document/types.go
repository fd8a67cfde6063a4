package document

import (
	"encoding/json"
	"io"
	"math"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// APIVersion and Kind begin every document.
const (
	APIVersion = "sandbox.vsphere/v1alpha1"
	Kind       = "ScenarioResult"
)

// Seconds is a duration; in JSON a number with at most three decimals.
type Seconds float64

// Suite is the document.
type Suite struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Name       string         `json:"name"`
	Verdict    result.Verdict `json:"verdict"`
	Passed     int            `json:"passed"`
	Failed     int            `json:"failed"`
	Errored    int            `json:"errored"`
	Skipped    int            `json:"skipped"`
	// Known are failures of known defects, Interrupted those that the user ended.
	Known       int        `json:"known,omitempty"`
	Interrupted int        `json:"interrupted,omitempty"`
	Began       time.Time  `json:"began"`
	Took        Seconds    `json:"took"`
	Seed        uint64     `json:"seed"`
	Speed       float64    `json:"speed"`
	CCM         string     `json:"ccm"`
	CCMVersion  string     `json:"ccmVersion,omitempty"`
	Baseline    string     `json:"baseline,omitempty"`
	Version     string     `json:"version"`
	Kubernetes  string     `json:"kubernetesVersion,omitempty"`
	Boots       []Boot     `json:"boots"`
	Scenarios   []Scenario `json:"scenarios"`
}

// Boot is the start of a sandbox for the run.
type Boot struct {
	Name     string    `json:"name"`
	Topology string    `json:"topology"`
	Began    time.Time `json:"began"`
	Took     Seconds   `json:"took"`
	Error    string    `json:"error,omitempty"`
}

// Scenario is the result of one scenario.
type Scenario struct {
	Name        string            `json:"name"`
	Theme       string            `json:"theme,omitempty"`
	File        string            `json:"file,omitempty"`
	Description string            `json:"description,omitempty"`
	Reported    []string          `json:"reported,omitempty"`
	Verdict     result.Verdict    `json:"verdict"`
	Judgment    *Judgment         `json:"judgment,omitempty"`
	Message     string            `json:"message,omitempty"`
	Began       time.Time         `json:"began,omitzero"`
	Took        Seconds           `json:"took"`
	Seed        uint64            `json:"seed,omitempty"`
	Speed       float64           `json:"speed,omitempty"`
	CCM         string            `json:"ccm,omitempty"`
	CCMVersion  string            `json:"ccmVersion,omitempty"`
	Sandbox     string            `json:"sandbox,omitempty"`
	Parameters  map[string]string `json:"parameters,omitempty"`
	Steps       []Step            `json:"steps"`
	Nodes       []api.Node        `json:"nodes,omitempty"`
	Calls       []api.Calls       `json:"calls,omitempty"`
	Events      []event.Event     `json:"events,omitempty"`
	// EventsLost counts the missed events.
	EventsLost uint64 `json:"eventsLost,omitempty"`
}

// Judgment is how a verdict counts, beside a baseline or a known defect.
type Judgment struct {
	Trend    result.Trend   `json:"trend,omitempty"`
	Baseline result.Verdict `json:"baseline,omitempty"`
	Known    string         `json:"known,omitempty"`
	Issues   []string       `json:"issues,omitempty"`
	Must     bool           `json:"must,omitempty"`
	// Excused means that the failure does not count.
	Excused bool   `json:"excused,omitempty"`
	Note    string `json:"note,omitempty"`
}

// Step is the result of one step.
type Step struct {
	Index   int            `json:"index"`
	Line    int            `json:"line,omitempty"`
	Action  string         `json:"action"`
	Text    string         `json:"text"`
	Verdict result.Verdict `json:"verdict"`
	Began   time.Time      `json:"began,omitzero"`
	Took    Seconds        `json:"took"`
	Latency Seconds        `json:"latency,omitempty"`
	Event   uint64         `json:"event,omitempty"`
	Message string         `json:"message,omitempty"`
	Detail  string         `json:"detail,omitempty"`
}

// Write writes the document.
func Write(w io.Writer, s *result.Suite) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(Of(s))
}

// Of returns the document of a suite. They share their data.
func Of(s *result.Suite) Suite {
	d := Suite{
		APIVersion: APIVersion, Kind: Kind, Name: s.Name, Verdict: s.Verdict(),
		Passed: s.Count(result.Passed), Failed: s.Count(result.Failed), Errored: s.Count(result.Errored), Skipped: s.Count(result.Skipped),
		Known: s.Count(result.Known), Interrupted: s.Count(result.Interrupted), Baseline: s.Baseline,
		Began: s.Began, Took: seconds(s.Took), Seed: s.Seed, Speed: s.Speed, CCM: s.CCM, CCMVersion: s.CCMVersion,
		Version: s.Version, Kubernetes: s.KubernetesVersion, Boots: []Boot{}, Scenarios: []Scenario{},
	}
	for _, b := range s.Boots {
		d.Boots = append(d.Boots, Boot{b.Name, b.Topology, b.Began, seconds(b.Took), b.Error})
	}
	for i := range s.Scenarios {
		d.Scenarios = append(d.Scenarios, scenario(&s.Scenarios[i]))
	}
	return d
}

func scenario(s *result.Scenario) Scenario {
	d := Scenario{
		Name: s.Name, Theme: s.Theme, File: s.File, Description: s.Description, Reported: s.Reported,
		Verdict: s.Shown(), Message: s.Message, Began: s.Began, Took: seconds(s.Took), Seed: s.Seed, Speed: s.Speed,
		CCM: s.CCM, CCMVersion: s.CCMVersion, Sandbox: s.Sandbox, Parameters: s.Parameters, Steps: []Step{},
		Nodes: s.World.Nodes, Calls: s.Calls, Events: s.Events, EventsLost: s.Lost,
	}
	if j := Judgment(s.Judgment); j.Trend != "" || j.Known != "" || j.Must || j.Note != "" {
		d.Judgment = &j
	}
	for _, st := range s.Steps {
		d.Steps = append(d.Steps, Step{
			st.Index, st.Line, st.Action, st.Text, st.Verdict, st.Began, seconds(st.Took), seconds(st.Latency), st.Event, st.Message, st.Detail,
		})
	}
	return d
}

func seconds(d time.Duration) Seconds {
	return Seconds(math.Round(d.Seconds()*1000) / 1000)
}
