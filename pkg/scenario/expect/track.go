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
	// Calls are those to the vCenters since these were started.
	Calls []api.Calls
	// Lines are those of the logs that were asked for, by component.
	Lines map[string][]string
	// Samples are the metrics that were asked for, by component.
	Samples map[string][]Sample
}

// Mark is a moment that later counts begin from.
type Mark struct {
	// Seq is the newest event at it.
	Seq  uint64
	Time time.Time
	// Event is what the step at the mark made: the injection, the healing; 0 when it made none.
	Event   uint64
	Calls   []api.Calls
	Lines   map[string]int
	Samples map[string][]Sample
}

// before reports whether an event happened before the mark though it arrived after it.
func (m *Mark) before(e event.Event) bool { return e.Seq <= m.Seq || e.Time.Before(m.Time) }

// Marks finds moments by name. Those that are always there: "" is where the statement's own counting begins unless it
// says otherwise, "start" the beginning of the scenario, "step" that of the step.
type Marks func(name string) *Mark

// The names of moments that are always there.
const (
	SinceStart = "start"
	SinceStep  = "step"
)

// Finding is the answer of a tracker.
type Finding struct {
	Met bool
	// Event is the one that decided it; 0 when none did.
	Event uint64
}

// Tracker reports whether an expectation is met. It is for one goroutine.
type Tracker interface {
	// Concerns reports whether a change of that kind can make a difference.
	Concerns(k world.Kind) bool
	// Look asks the world as it is now.
	Look(v *View) Finding
	// Was says what there was instead, after a Look, in lines.
	Was(v *View) []string
	// Related are the newest events that have to do with it.
	Related(v *View) []event.Event
}

// Track begins to watch for the expectation.
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

// groupTracker is several as one.
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
	for _, p := range g.parts { // every one looks, as trackers of events must not miss any
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
		lines = append(lines, "all of it was so")
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

// related are the newest events that are about one of the names, or about none in particular and loud.
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
