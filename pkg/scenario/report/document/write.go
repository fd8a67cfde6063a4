package document

import (
	"encoding/json"
	"io"
	"math"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// Write writes the document.
func Write(w io.Writer, s *result.Suite) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(Of(s))
}

// Of makes a document of a suite. They share what they refer to.
func Of(s *result.Suite) Suite {
	d := Suite{
		APIVersion: APIVersion, Kind: Kind, Name: s.Name, Verdict: s.Verdict(),
		Passed: s.Count(result.Passed), Failed: s.Count(result.Failed), Errored: s.Count(result.Errored), Skipped: s.Count(result.Skipped),
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
		Verdict: s.Verdict, Message: s.Message, Began: s.Began, Took: seconds(s.Took), Seed: s.Seed, Speed: s.Speed,
		CCM: s.CCM, CCMVersion: s.CCMVersion, Sandbox: s.Sandbox, Parameters: s.Parameters, Steps: []Step{},
		Nodes: s.World.Nodes, Calls: s.Calls, Events: s.Events, EventsLost: s.Lost,
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
