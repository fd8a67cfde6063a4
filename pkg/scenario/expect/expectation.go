package expect

import (
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

// Expectation is a statement about the world. Exactly one of its fields is set.
type Expectation struct {
	// All must all be true, and of Any at least one.
	All, Any []*Expectation

	Rows   *Rows
	Event  *Event
	Events *Events
	Calls  *Calls
	Log    *Log
	Metric *Metric
}

// Subjects returns the first word of each kind of statement.
func Subjects() []string {
	var words []string
	for _, k := range world.Kinds() {
		words = append(words, string(k))
	}
	return append(words, "event", "events", "calls", "log", "metric", "all", "any")
}

// DecodeYAML parses a statement, or a list of statements that must all be true.
func (x *Expectation) DecodeYAML(r *strict.Reader, node *yaml.Node, path string) {
	if node.Kind == yaml.SequenceNode {
		if r.Decode(node, &x.All, path); len(node.Content) == 0 {
			r.Errorf(node, path, "must be a list of statements")
		}
		return
	}
	if node.Kind != yaml.MappingNode {
		r.Errorf(node, path, "must begin with one of %s", strings.Join(Subjects(), ", "))
		return
	}
	var word string
	var value *yaml.Node
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if !slices.Contains(Subjects(), key.Value) {
			continue
		}
		// A VM has a field host, and a node a field vm: the first word is the subject.
		if word != "" {
			if _, isField := world.Kind(word).Field(key.Value); isField {
				continue
			}
			r.Errorf(key, path, "is about %s and about %s: make it a list of two", word, key.Value)
			return
		}
		word, value = key.Value, node.Content[i+1]
	}
	x.about(r, node, value, word, path)
}

func (x *Expectation) about(r *strict.Reader, node, value *yaml.Node, word, path string) {
	below := strict.Below(path, word)
	alone := func() bool {
		for i := 0; i+1 < len(node.Content); i += 2 {
			if key := node.Content[i]; key.Value != word {
				r.Errorf(key, strict.Below(path, key.Value), "unknown key %q: conditions on the %s are in it: %s: {…}", key.Value, word, word)
				return false
			}
		}
		return true
	}
	switch word {
	case "":
		known := Subjects()
		if len(node.Content) > 0 {
			r.Hint(node.Content[0], path, nearest.Of(node.Content[0].Value, known), "must begin with one of %s", strings.Join(known, ", "))
			return
		}
		r.Errorf(node, path, "must begin with one of %s", strings.Join(known, ", "))
	case "all", "any":
		if !alone() {
			return
		}
		list := &x.All
		if word == "any" {
			list = &x.Any
		}
		if r.Decode(value, list, below); len(*list) == 0 {
			r.Errorf(value, below, "must be a list of statements")
		}
	case "event":
		x.Event = &Event{}
		if alone() {
			r.Decode(value, x.Event, below)
			x.Event.check(r, value, below)
		}
	case "events":
		x.Events = &Events{}
		if alone() {
			x.Events.read(r, value, below)
		}
	case "calls":
		x.Calls = &Calls{}
		if alone() {
			r.Decode(value, x.Calls, below)
			x.Calls.check(r, value, below)
		}
	case "log":
		x.Log = &Log{}
		if alone() {
			r.Decode(value, x.Log, below)
			x.Log.check(r, value, below)
		}
	case "metric":
		x.Metric = &Metric{}
		if alone() {
			r.Decode(value, x.Metric, below)
			x.Metric.check(r, value, below)
		}
	default:
		x.Rows = &Rows{Kind: world.Kind(word)}
		x.Rows.read(r, node, path)
	}
}

// Walk calls f for the expectation and all its parts.
func (x *Expectation) Walk(f func(*Expectation)) {
	f(x)
	for _, one := range append(slices.Clone(x.All), x.Any...) {
		one.Walk(f)
	}
}

// String returns a line.
func (x *Expectation) String() string {
	switch {
	case x.Rows != nil:
		return x.Rows.String()
	case x.Event != nil:
		return "event " + x.Event.String()
	case x.Events != nil:
		return x.Events.String()
	case x.Calls != nil:
		return x.Calls.String()
	case x.Log != nil:
		return x.Log.String()
	case x.Metric != nil:
		return x.Metric.String()
	}
	list, word := x.All, " and "
	if len(x.Any) > 0 {
		list, word = x.Any, " or "
	}
	texts := make([]string, len(list))
	for i, one := range list {
		texts[i] = one.String()
	}
	return strings.Join(texts, word)
}

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
	// Restarts are those of each component since its start.
	Restarts map[string]int
}

// before reports whether an event happened before the mark though it arrived after it.
func (m *Mark) before(e event.Event) bool { return e.Seq <= m.Seq || e.Time.Before(m.Time) }

// Marks finds marks by name. Four always exist: "" is where the statement starts to count by default, "start" the beginning of
// the scenario, "step" that of the step, and [SinceProcess].
type Marks func(name string) *Mark

// The marks that always exist.
const (
	SinceStart = "start"
	SinceStep  = "step"
	// SinceProcess is the last injection of a fault of processes, or "" if there was none: restarts are counted from it. No file names it.
	SinceProcess = "\x00process"
)

// Finding is the result of a tracker.
type Finding struct {
	Met bool
	// Event is the one that decided it, or 0.
	Event uint64
}

// Tracker reports whether an expectation is met. It is for one goroutine.
type Tracker interface {
	// DependsOn reports whether a change of that kind can make a difference.
	DependsOn(k world.Kind) bool
	// Evaluate evaluates the current world.
	Evaluate(v *View) Finding
	// Describe describes what there was instead, after a Look, in lines.
	Describe(v *View) []string
	// RelatedEvents returns the newest events about it.
	RelatedEvents(v *View) []event.Event
}

// Track starts to evaluate the expectation.
func (x *Expectation) Track(m Marks) Tracker {
	switch {
	case x.Rows != nil:
		return &rowsTracker{rows: x.Rows.from(m)}
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

func (g *groupTracker) DependsOn(k world.Kind) bool {
	return slices.ContainsFunc(g.parts, func(p part) bool { return p.DependsOn(k) })
}

func (g *groupTracker) Evaluate(v *View) Finding {
	met, newest := 0, Finding{}
	for _, p := range g.parts { // all are evaluated: trackers of events must not miss any
		if f := p.Evaluate(v); f.Met {
			met++
			newest.Event = max(newest.Event, f.Event)
		}
	}
	newest.Met = met == len(g.parts) || g.any && met > 0
	return newest
}

func (g *groupTracker) Describe(v *View) []string {
	var lines []string
	for _, p := range g.parts {
		if !p.Evaluate(v).Met {
			lines = append(lines, p.Describe(v)...)
		}
	}
	if len(lines) == 0 {
		lines = append(lines, "all of it was true")
	}
	return lines
}

func (g *groupTracker) RelatedEvents(v *View) []event.Event {
	var all []event.Event
	seen := map[uint64]bool{}
	for _, p := range g.parts {
		for _, e := range p.RelatedEvents(v) {
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

// ForNever makes it the statement of a never: a statement about several things is true if it is true of one of them, as none may
// be. It keeps an explicit count.
func (x *Expectation) ForNever() {
	for _, one := range slices.Concat(x.All, x.Any) {
		one.ForNever()
	}
	if r := x.Rows; r != nil && r.Count == nil && r.Exists == nil && r.several() {
		r.Count = &Count{Op: ">=", N: 1}
	}
}

// several reports whether it may be about more than one thing.
func (s *Rows) several() bool {
	return len(s.Where) > 0 || len(s.Names) > 1 || slices.ContainsFunc(s.Names, IsPattern)
}
