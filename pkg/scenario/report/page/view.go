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
	Policy  string
	CSS     template.CSS
	JS      template.JS
	Name    string
	Verdict result.Verdict
	// Headline is the verdict in words, Trends counts what a baseline compares; "" without one.
	Headline, Sum, Trends string
	// Class is the verdict that the headline is colored for.
	Class     result.Verdict
	Baseline  string
	Facts     []Fact
	Defects   []report.KnownDefect
	Tables    []Table
	Scenarios []Scenario
}

// Table is a table of the run.
type Table struct {
	Title  string
	Header []Cell
	Rows   [][]Cell
}

// Cell is a cell of a table.
type Cell struct {
	Text   string
	Number bool
}

func tables(all []result.Table) []Table {
	var list []Table
	for _, t := range all {
		cells := func(row []string) []Cell {
			var line []Cell
			for i, text := range row {
				line = append(line, Cell{text, i > 0 && i <= t.Numbers})
			}
			return line
		}
		made := Table{Title: t.Title, Header: cells(t.Header)}
		for _, row := range t.Rows {
			made.Rows = append(made.Rows, cells(row))
		}
		list = append(list, made)
	}
	return list
}

// Fact is a name and a value.
type Fact struct{ Name, Value string }

// Scenario is one scenario as the page shows it.
type Scenario struct {
	ID                             string
	Name, Theme, File, Description string
	Reported                       []string
	Verdict                        result.Verdict
	Trend                          result.Trend
	// Excused means that its failure does not count.
	Excused bool
	// Judged says how the verdict counts, where that is not plain.
	Judged                            string
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
		Name: s.Name, Verdict: s.Verdict(), Class: s.Verdict(), Headline: report.Headline(s), Sum: report.Sum(s), Trends: report.Trends(s),
		Baseline: s.Baseline, Defects: report.Defects(s), Tables: tables(s.Tables),
		Facts: facts(
			"began", stamp(s.Began), "took", report.Took(s.Took), "cloud provider", version(s.CCM, s.CCMVersion), "baseline", s.Baseline, "Kubernetes", s.KubernetesVersion,
			"speed", times(s.Speed), "seed", strconv.FormatUint(s.Seed, 10), "vsphere-sandbox", s.Version, "booted", boots(s.Boots),
		),
	}
	if p.Class == result.Passed && s.Count(result.Known) > 0 {
		p.Class = result.Known
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
		Verdict: s.Shown(), Trend: s.Judgment.Trend, Excused: s.Counted() != s.Verdict, Judged: report.Judged(s), Glyph: report.Glyph(s.Shown()), Message: s.Message, Took: report.Took(s.Took), Began: stamp(s.Began), Lost: s.Lost, Calls: s.Calls,
		Open: s.Counted() != result.Passed && s.Verdict != result.Skipped || len(suite.Scenarios) == 1,
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

// The geometry of a timeline, in its own units; the page scales it.
const (
	width     = 1200.0
	plotLeft  = 190.0
	plotRight = 1186.0
	rowHeight = 17.0
	lanePad   = 9.0
	axis      = 24.0
	stepsBand = 30.0
	barHeight = 21.0
	groupGap  = 22.0
)

// mostMarks is the maximum number of events in a timeline: more would overlap.
const mostMarks = 700

// Timeline is the drawing of a scenario.
type Timeline struct {
	Width, Height, PlotLeft, PlotRight float64
	LanesTop                           float64
	Ticks                              []Tick
	Steps                              []Bar
	Lanes                              []*Lane
	Links                              []Link
	Groups                             []group
	// LeftOut counts the events that are not drawn.
	LeftOut int
}

// Tick is a time on the axis.
type Tick struct {
	X     float64
	Label string
}

// Bar is a step.
type Bar struct {
	X, Y, W float64
	Verdict result.Verdict
	Label   string
	Title   string
}

// Lane is a line of events about one object.
type Lane struct {
	Group  group
	Name   string
	Short  string // what of the name there is room for
	First  bool   // of its group
	Y, H   float64
	Marks  []*Mark
	Number int
}

// Mark is an event.
type Mark struct {
	Seq, Cause uint64
	X, Y       float64 // Y is in the lane
	Row        int
	Level      event.Level
	Label      string
	LabelLeft  bool
	At, After  string // since the scenario began; since its cause
	Kind       string
	Object     string
	Message    string

	event event.Event
	lane  *Lane
}

// timeline draws a scenario; nil without a step or event.
func timeline(s *result.Scenario) *Timeline {
	if len(s.Events) == 0 && len(s.Steps) == 0 {
		return nil
	}
	t := &Timeline{Width: width, PlotLeft: plotLeft, PlotRight: plotRight, LanesTop: axis + stepsBand}
	c := clock(s)
	t.Ticks = c.ticks()
	t.steps(c, s.Steps)
	drawn := choose(s)
	t.LeftOut = len(s.Events) - len(drawn)
	marks := t.lay(c, drawn)
	t.Links = links(t, marks)
	return t
}

// steps draws the steps at the top; a step that continues while others run gets its own row.
func (t *Timeline) steps(c scale, all []result.Step) {
	var ends []float64
	for _, st := range all {
		if st.Began.IsZero() || st.Verdict == result.Skipped {
			continue
		}
		b := c.bar(st)
		const touch = 4 // steps that took no time are drawn wider than they are
		row := slices.IndexFunc(ends, func(end float64) bool { return end <= b.X+touch })
		if row < 0 {
			row = len(ends)
			ends = append(ends, 0)
		}
		ends[row] = b.X + b.W
		b.Y = axis + 6 + float64(row)*barHeight
		t.Steps = append(t.Steps, b)
	}
	t.LanesTop += float64(max(0, len(ends)-1)) * barHeight
}

// scale converts times to positions.
type scale struct {
	zero time.Time
	span time.Duration
}

// clock returns the scale of a scenario: from its beginning to its last step or event. The final wait for recovery is not drawn.
func clock(s *result.Scenario) scale {
	c := scale{zero: s.Began}
	for _, e := range s.Events {
		c.span = max(c.span, e.Time.Sub(c.zero))
	}
	for _, st := range s.Steps {
		if !st.Began.IsZero() {
			c.span = max(c.span, st.Began.Add(st.Took).Sub(c.zero))
		}
	}
	c.span = max(c.span, time.Millisecond)
	return c
}

// x returns the position of a time; earlier times are at the beginning.
func (c scale) x(at time.Time) float64 {
	const inset = 26 // room for the curves that bend out
	f := float64(at.Sub(c.zero)) / float64(c.span)
	return round(plotLeft + inset + min(max(f, 0), 1)*(plotRight-plotLeft-2*inset))
}

func (c scale) bar(st result.Step) Bar {
	x := c.x(st.Began)
	w := max(round(c.x(st.Began.Add(st.Took))-x), 3)
	label := st.Action + " " + report.Line(st.Text)
	if room := int((w - 10) / charWidth); room < 3 {
		label = ""
	} else {
		label = shorten(label, room)
	}
	return Bar{x, 0, w, st.Verdict, label, fmt.Sprintf("%d %s", st.Index, report.StepLine(st))}
}

// ticks returns about ten round times.
func (c scale) ticks() []Tick {
	step := 10 * time.Microsecond
	for n := 0; c.span/step > 11; n++ {
		if n%3 == 1 {
			step = step * 5 / 2
		} else {
			step *= 2
		}
	}
	var all []Tick
	for at := time.Duration(0); at <= c.span; at += step {
		all = append(all, Tick{c.x(c.zero.Add(at)), tickLabel(at, step)})
	}
	return all
}

func tickLabel(at, step time.Duration) string {
	switch {
	case at == 0:
		return "0"
	case step < time.Millisecond:
		return fmt.Sprintf("%g ms", float64(at.Microseconds())/1000)
	case step < time.Second:
		return fmt.Sprintf("%g s", float64(at.Milliseconds())/1000)
	case at < 2*time.Minute:
		return fmt.Sprintf("%g s", at.Seconds())
	}
	return fmt.Sprintf("%d:%02d", int(at.Minutes()), int(at.Seconds())%60)
}

// choose returns the events to draw: all, or the most important.
func choose(s *result.Scenario) []event.Event {
	if len(s.Events) <= mostMarks {
		return s.Events
	}
	causes := map[uint64]bool{}
	for _, e := range s.Events {
		causes[e.Cause] = true
	}
	for _, st := range s.Steps {
		causes[st.Event] = true
	}
	reports := func(e event.Event) int {
		switch {
		case causes[e.Seq] || e.Level == event.Error:
			return 3
		case e.Cause != 0:
			return 2
		case e.Level == event.Warning:
			return 1
		}
		return 0
	}
	order := slices.Clone(s.Events)
	slices.SortStableFunc(order, func(a, b event.Event) int { return reports(b) - reports(a) })
	order = order[:mostMarks]
	slices.SortFunc(order, func(a, b event.Event) int { return int(int64(a.Seq) - int64(b.Seq)) })
	return order
}

// lay assigns events to lanes, and places the lanes.
func (t *Timeline) lay(c scale, events []event.Event) map[uint64]*Mark {
	type key struct{ group, name string }
	lanes := map[key]*Lane{}
	byGroup := map[string][]*Lane{}
	marks := map[uint64]*Mark{}
	for _, e := range events {
		g, name := lane(e)
		l := lanes[key{g.ID, name}]
		if l == nil {
			l = &Lane{Group: g, Name: name, Short: shorten(name, 27)}
			lanes[key{g.ID, name}] = l
			byGroup[g.ID] = append(byGroup[g.ID], l)
		}
		m := &Mark{
			Seq: e.Seq, Cause: e.Cause, X: c.x(e.Time), Level: e.Level, Label: word(e), At: report.Took(e.Time.Sub(c.zero)),
			Kind: report.Line(e.Kind), Object: report.Line(report.Object(e.Object)), Message: report.Line(e.Message), event: e, lane: l,
		}
		if cause := marks[e.Cause]; cause != nil {
			m.After = report.Took(e.Time.Sub(cause.event.Time))
		}
		l.Marks = append(l.Marks, m)
		marks[e.Seq] = m
	}
	y := t.LanesTop
	for _, g := range groups() {
		if len(byGroup[g.ID]) == 0 {
			continue
		}
		t.Groups = append(t.Groups, g)
		for i, l := range byGroup[g.ID] {
			l.First = i == 0
			l.Number = len(t.Lanes)
			if l.First {
				y += groupGap
			}
			slices.SortStableFunc(l.Marks, func(a, b *Mark) int { return cmpFloat(a.X, b.X) })
			rows := pack(l.Marks, plotRight)
			l.Y, l.H = y, lanePad+float64(rows)*rowHeight
			for _, m := range l.Marks {
				m.Y = lanePad/2 + rowHeight*(float64(m.Row)+0.5)
			}
			y += l.H
			t.Lanes = append(t.Lanes, l)
		}
	}
	t.Height = y + 10
	return marks
}

func cmpFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func round(f float64) float64 { return float64(int64(f*10+0.5)) / 10 }
