package expect

import (
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

// View is what expectations see: the world, and what must be polled.
type View struct {
	World *world.World
	// Calls are the calls to the vCenters since their start.
	Calls []api.Calls
	// Lines are the lines of the requested logs, by component.
	Lines map[string][]string
	// Samples are the requested metrics, by component.
	Samples map[string][]Sample
}

// Mark is a time that counts start from.
type Mark struct {
	// Seq is the newest event at that time.
	Seq  uint64
	Time time.Time
	// Event is the event of the step at the mark: an injection or a healing; 0 if it had none.
	Event   uint64
	Calls   []api.Calls
	Lines   map[string]int
	Samples map[string][]Sample
}

// before reports whether an event happened before the mark though it arrived after it.
func (m *Mark) before(e event.Event) bool { return e.Seq <= m.Seq || e.Time.Before(m.Time) }

// Marks finds marks by name. Three always exist: "" is where the statement starts to count by default, "start" the beginning of
// the scenario, "step" that of the step.
type Marks func(name string) *Mark

// The marks that always exist.
const (
	SinceStart = "start"
	SinceStep  = "step"
)

// Finding is the result of a tracker.
type Finding struct {
	Met bool
	// Event is the one that decided it, or 0.
	Event uint64
}

// Tracker reports whether an expectation is met. It is for one goroutine.
type Tracker interface {
	// Concerns reports whether a change of that kind can make a difference.
	Concerns(k world.Kind) bool
	// Look evaluates the current world.
	Look(v *View) Finding
	// Was describes what there was instead, after a Look, in lines.
	Was(v *View) []string
	// Related returns the newest events about it.
	Related(v *View) []event.Event
}

// Track starts to evaluate the expectation.
func (x *Expectation) Track(m Marks) Tracker {
	switch {
	case x.Rows != nil:
		return &rowsTracker{rows: x.Rows}
	case x.Event != nil:
		return &eventTracker{want: x.Event, marks: m}
	case x.Events != nil:
		return &eventsTracker{want: x.Events, marks: m}
	case x.Calls != nil:
		return &callsTracker{want: x.Calls, since: m(x.Calls.Since)}
	case x.Log != nil:
		return &logTracker{want: x.Log, since: m(x.Log.Since)}
	case x.Metric != nil:
		t := &metricTracker{want: x.Metric}
		if x.Metric.Since != "" {
			t.since = m(x.Metric.Since)
		}
		return t
	}
	g := &groupTracker{any: len(x.Any) > 0}
	list := x.All
	if g.any {
		list = x.Any
	}
	for _, one := range list {
		g.parts = append(g.parts, part{one, one.Track(m)})
	}
	return g
}

// groupTracker combines several trackers.
type groupTracker struct {
	any   bool
	parts []part
}

type part struct {
	x *Expectation
	Tracker
}

func (g *groupTracker) Concerns(k world.Kind) bool {
	for _, p := range g.parts {
		if p.Concerns(k) {
			return true
		}
	}
	return false
}

func (g *groupTracker) Look(v *View) Finding {
	met, newest := 0, Finding{}
	for _, p := range g.parts { // all are evaluated: trackers of events must not miss any
		if f := p.Look(v); f.Met {
			met++
			newest.Event = max(newest.Event, f.Event)
		}
	}
	newest.Met = met == len(g.parts) || g.any && met > 0
	return newest
}

func (g *groupTracker) Was(v *View) []string {
	var lines []string
	for _, p := range g.parts {
		if !p.Look(v).Met {
			lines = append(lines, p.Was(v)...)
		}
	}
	if len(lines) == 0 {
		lines = append(lines, "all of it was true")
	}
	return lines
}

func (g *groupTracker) Related(v *View) []event.Event {
	var all []event.Event
	seen := map[uint64]bool{}
	for _, p := range g.parts {
		for _, e := range p.Related(v) {
			if !seen[e.Seq] {
				seen[e.Seq] = true
				all = append(all, e)
			}
		}
	}
	return newest(all)
}

// maxRelated is the maximum number of events reported with a failure.
const maxRelated = 8

func newest(events []event.Event) []event.Event {
	return events[max(0, len(events)-maxRelated):]
}

// related returns the newest events about one of the names, and important ones about no object.
func related(v *View, names []string) []event.Event {
	var found []event.Event
	all := v.World.Events()
	for i := len(all) - 1; i >= 0 && len(found) < maxRelated; i-- {
		e := all[i]
		for _, name := range names {
			if matchObject(name, e.Object) {
				found = append(found, e)
				break
			}
		}
	}
	for i, j := 0, len(found)-1; i < j; i, j = i+1, j-1 {
		found[i], found[j] = found[j], found[i]
	}
	return found
}

// matchObject reports whether a pattern matches an event's object: worker-1, us/worker-1, Node/worker-1.
func matchObject(pat string, o event.Object) bool {
	return Match(pat, o.Name) || o.VCenter != "" && Match(pat, o.VCenter+"/"+o.Name) || Match(pat, o.Kind+"/"+o.Name) ||
		strings.HasPrefix(o.Name, "node/") && Match(pat, strings.TrimPrefix(o.Name, "node/"))
}
