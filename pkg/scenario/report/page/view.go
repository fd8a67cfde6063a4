package page

import (
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// Page is the data of the template.
type Page struct {
	Policy    string
	CSS       template.CSS
	JS        template.JS
	Name      string
	Verdict   result.Verdict
	Sum       string
	Facts     []Fact
	Scenarios []Scenario
}

// Fact is a name and a value.
type Fact struct{ Name, Value string }

// Scenario is one scenario as the page shows it.
type Scenario struct {
	ID                                string
	Name, Theme, File, Description    string
	Reported                          []string
	Verdict                           result.Verdict
	Glyph, Message, Took, Began, Rate string
	// X and W are its position in the run, in percent.
	X, W       float64
	Open       bool
	Facts      []Fact
	Steps      []Step
	Timeline   *Timeline
	Effects    []*Effect
	More       int // effects that are not shown
	Events     []Event
	Unreported int // events that are not shown
	Lost       uint64
	Nodes      []Node
	Calls      []api.Calls
}

// Step is one step as the page shows it.
type Step struct {
	result.Step
	Glyph, Took, Latency string
	Detail               string
}

// Event is a line of the table of events.
type Event struct {
	Seq, Cause            uint64
	At, Kind, Object, Msg string
	Level                 event.Level
	Group                 string
}

// Node is a line of the table of nodes.
type Node struct {
	api.Node
	State, Addresses, Taints string
}

// mostEvents is the maximum number of events in the table.
const mostEvents = 2000

func view(s *result.Suite) *Page {
	p := &Page{
		Name: s.Name, Verdict: s.Verdict(), Sum: report.Sum(s),
		Facts: facts(
			"began", stamp(s.Began), "took", report.Took(s.Took), "cloud provider", version(s.CCM, s.CCMVersion), "Kubernetes", s.KubernetesVersion,
			"speed", times(s.Speed), "seed", strconv.FormatUint(s.Seed, 10), "vsphere-sandbox", s.Version, "booted", boots(s.Boots),
		),
	}
	for i := range s.Scenarios {
		p.Scenarios = append(p.Scenarios, scenario(s, i))
	}
	return p
}

func scenario(suite *result.Suite, n int) Scenario {
	s := &suite.Scenarios[n]
	passed := 0
	v := Scenario{
		ID: fmt.Sprintf("s%d", n+1), Name: s.Name, Theme: s.Theme, File: s.File, Description: s.Description, Reported: s.Reported,
		Verdict: s.Verdict, Glyph: report.Glyph(s.Verdict), Message: s.Message, Took: report.Took(s.Took), Began: stamp(s.Began), Lost: s.Lost, Calls: s.Calls,
		Open: s.Verdict != result.Passed && s.Verdict != result.Skipped || len(suite.Scenarios) == 1,
	}
	if suite.Took > 0 && !s.Began.IsZero() {
		v.X = round(min(max(float64(s.Began.Sub(suite.Began))/float64(suite.Took)*100, 0), 99.4))
		v.W = round(min(max(float64(s.Took)/float64(suite.Took)*100, 0.6), 100-v.X))
	}
	if s.Verdict == result.Skipped {
		v.Took, v.W, v.Nodes = "", 0, nil
	}
	for _, st := range s.Steps {
		if st.Verdict == result.Passed {
			passed++
		}
		row := Step{Step: st, Glyph: report.Glyph(st.Verdict), Detail: report.Lines(st.Detail)}
		if st.Verdict != result.Skipped {
			row.Took = report.Took(st.Took)
		}
		if st.Latency > 0 {
			row.Latency = "+" + report.Took(st.Latency)
		}
		v.Steps = append(v.Steps, row)
	}
	if len(s.Steps) > 0 {
		v.Rate = fmt.Sprintf("%d of %d steps", passed, len(s.Steps))
	}
	v.Facts = facts("file", s.File, "began", v.Began, "sandbox", s.Sandbox)
	if s.CCM != suite.CCM {
		v.Facts = append(v.Facts, Fact{"cloud provider", version(s.CCM, s.CCMVersion)})
	}
	if s.Seed != suite.Seed {
		v.Facts = append(v.Facts, Fact{"seed", strconv.FormatUint(s.Seed, 10)})
	}
	v.Facts = append(v.Facts, parameters(s.Parameters)...)
	v.Timeline = timeline(s)
	c := clock(s)
	v.Effects, v.More = effects(c, s.Events)
	v.Unreported = max(0, len(s.Events)-mostEvents)
	for _, e := range s.Events[:len(s.Events)-v.Unreported] {
		g, _ := lane(e)
		v.Events = append(v.Events, Event{e.Seq, e.Cause, report.Took(e.Time.Sub(c.zero)), e.Kind, report.Object(e.Object), e.Message, e.Level, g.ID})
	}
	if s.Verdict != result.Skipped {
		v.Nodes = nodes(s.World.Nodes)
	}
	return v
}

func nodes(all []api.Node) []Node {
	var rows []Node
	for _, n := range all {
		state := "Ready " + n.Ready
		if n.Ready == "True" {
			state = "Ready"
		}
		if !n.Registered {
			state = "absent"
		}
		rows = append(rows, Node{n, state, strings.Join(n.Addresses, " "), strings.Join(n.Taints, " ")})
	}
	return rows
}

// facts are pairs of names and values, without empty ones.
func facts(pairs ...string) []Fact {
	var all []Fact
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			all = append(all, Fact{pairs[i], pairs[i+1]})
		}
	}
	return all
}

func parameters(values map[string]string) []Fact {
	var all []Fact
	for name, value := range values {
		all = append(all, Fact{name, value})
	}
	slices.SortFunc(all, func(a, b Fact) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func version(ccm, v string) string {
	if v == "" || strings.HasSuffix(ccm, v) {
		return ccm
	}
	return ccm + " (" + v + ")"
}

func times(speed float64) string {
	if speed == 0 {
		return ""
	}
	return strconv.FormatFloat(speed, 'f', -1, 64) + "×"
}

func boots(all []result.Boot) string {
	var texts []string
	for _, b := range all {
		texts = append(texts, b.Topology+" in "+report.Took(b.Took))
	}
	if len(texts) > 3 {
		return fmt.Sprintf("%d sandboxes", len(texts))
	}
	return strings.Join(texts, ", ")
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}
