package expect

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

// Event is a statement about events of the log: that a matching one exists, or how many.
type Event struct {
	// Kind is a pattern: node.deleted, vm.*.
	Kind string `json:"kind,omitempty"`
	// Object is a pattern for its object: worker-1, us/worker-1, VM/worker-1.
	Object  string `json:"object,omitempty"`
	VCenter string `json:"vcenter,omitempty"`
	Plane   string `json:"plane,omitempty"`
	Level   string `json:"level,omitempty"`
	// Message is a regular expression that matches its message.
	Message string `json:"message,omitempty"`
	// Cause must be among its causes.
	Cause *Cause `json:"cause,omitempty"`
	// Count is how many; default at least one.
	Count *Count `json:"count,omitempty"`
	// Since is the start of counting.
	Since string `json:"since,omitempty"`

	message *regexp.Regexp
}

// Cause is a cause of an event: a step by its name in as:, the kind of an event, or an event.
type Cause struct {
	Name  string
	Event *Event
}

// DecodeYAML parses a cause.
func (c *Cause) DecodeYAML(r *strict.Reader, node *yaml.Node, path string) {
	if node.Kind == yaml.ScalarNode {
		c.Name = node.Value
		return
	}
	c.Event = &Event{}
	r.Decode(node, c.Event, path)
	c.Event.check(r, node, path)
}

func (e *Event) check(r *strict.Reader, node *yaml.Node, path string) {
	if e.Kind == "" && e.Object == "" && e.Message == "" && e.Cause == nil {
		r.Errorf(node, path, "needs one of kind, object, message or cause")
	}
	choice(r, node, path, "plane", e.Plane, string(event.PlaneSandbox), string(event.PlaneVSphere), string(event.PlaneKubernetes))
	choice(r, node, path, "level", e.Level, string(event.Info), string(event.Warning), string(event.Error))
	e.message = expression(r, node, path, "message", e.Message)
}

func choice(r *strict.Reader, node *yaml.Node, path, key, value string, known ...string) {
	for _, one := range append(known, "") {
		if value == one || strict.IsLate(value) {
			return
		}
	}
	_, at := strict.Find(node, key)
	r.Unknown(at, strict.Below(path, key), key, value, known)
}

func expression(r *strict.Reader, node *yaml.Node, path, key, text string) *regexp.Regexp {
	if text == "" || strict.IsLate(text) {
		return nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		_, at := strict.Find(node, key)
		r.Errorf(at, strict.Below(path, key), "is no regular expression: %v", err)
		return nil
	}
	return re
}

// matches reports whether an event is the expected one.
func (e *Event) matches(w *world.World, got event.Event, marks Marks) bool {
	o := got.Object
	switch {
	case e.Kind != "" && !Match(e.Kind, got.Kind),
		e.Plane != "" && e.Plane != string(got.Plane),
		e.Level != "" && e.Level != string(got.Level),
		e.VCenter != "" && !Match(e.VCenter, o.VCenter),
		e.Object != "" && !matchObject(e.Object, o),
		e.message != nil && !e.message.MatchString(got.Message):
		return false
	}
	return e.Cause == nil || e.Cause.matches(w, got, marks)
}

func (c *Cause) matches(w *world.World, got event.Event, marks Marks) bool {
	if c.Event == nil {
		if m := marks(c.Name); m != nil {
			return m.Event != 0 && w.CausedBy(got, m.Event)
		}
	}
	return slices.ContainsFunc(w.Causes(got), func(cause event.Event) bool {
		return c.Event != nil && c.Event.matches(w, cause, marks) || c.Event == nil && Match(c.Name, cause.Kind)
	})
}

// String returns a short description.
func (e *Event) String() string {
	parts := []string{}
	add := func(before, text string) {
		if text != "" {
			parts = append(parts, before+text)
		}
	}
	add("", e.Kind)
	add("of ", e.Object)
	add("in vCenter ", e.VCenter)
	add("on ", e.Plane)
	add("at level ", e.Level)
	if e.Message != "" {
		add("saying ", "/"+e.Message+"/")
	}
	if e.Cause != nil {
		if add("because of ", e.Cause.Name); e.Cause.Event != nil {
			add("because of ", e.Cause.Event.String())
		}
	}
	if e.Count != nil {
		add("count ", e.Count.String())
	}
	add("since ", e.Since)
	return strings.Join(parts, " ")
}

// eventTracker counts events as they arrive.
type eventTracker struct {
	want  *Event
	marks Marks
	since *Mark
	after uint64 // the last event that was checked
	count int
	last  uint64
}

func (t *eventTracker) DependsOn(k world.Kind) bool { return k == world.Event }

func (t *eventTracker) Evaluate(v *View) Finding {
	if t.since == nil {
		t.since = t.marks(t.want.Since)
		t.after = t.since.Seq
	}
	for _, e := range v.World.After(t.after) {
		if t.after = e.Seq; !t.since.before(e) && t.want.matches(v.World, e, t.marks) {
			t.count++
			t.last = e.Seq
		}
	}
	if t.want.Count != nil {
		return Finding{Met: t.want.Count.Has(float64(t.count)), Event: t.last}
	}
	return Finding{Met: t.count > 0, Event: t.last}
}

func (t *eventTracker) Describe(v *View) []string {
	if t.count == 0 {
		return []string{"there was no such event"}
	}
	e, _ := v.World.Event(t.last)
	return []string{fmt.Sprintf("there were %d, the last one %s", t.count, report(e))}
}

func report(e event.Event) string {
	name := e.Object.Name
	if e.Object.VCenter != "" && e.Object.VCenter != name {
		name = e.Object.VCenter + "/" + name
	}
	return strings.TrimSpace(fmt.Sprintf("#%d %s %s", e.Seq, e.Kind, name)) + ": " + e.Message
}

func (t *eventTracker) RelatedEvents(v *View) []event.Event { return t.want.related(v) }

func (e *Event) related(v *View) []event.Event {
	if e.Object != "" {
		return related(v, []string{e.Object})
	}
	noun, _, _ := strings.Cut(e.Kind, ".")
	var found []event.Event
	for _, one := range v.World.Events() {
		if strings.HasPrefix(one.Kind, noun+".") {
			found = append(found, one)
		}
	}
	return newest(found)
}

// Events is a statement about the order of events: that matching events exist, each after the one before.
type Events struct {
	Order []*Event
	// Caused means that each has the one before among its causes.
	Caused bool
	Since  string
}

// read parses a list of events, or a mapping with one.
func (s *Events) read(r *strict.Reader, node *yaml.Node, path string) {
	list := node
	if node.Kind == yaml.MappingNode {
		var long struct {
			Caused bool   `json:"caused"`
			Since  string `json:"since"`
		}
		short := &yaml.Node{Kind: yaml.MappingNode, Line: node.Line, Column: node.Column}
		list = nil
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == "order" && list == nil {
				list, path = node.Content[i+1], strict.Below(path, "order")
				continue
			}
			short.Content = append(short.Content, node.Content[i], node.Content[i+1])
		}
		if r.Decode(short, &long, path); list == nil {
			r.Errorf(node, path, "must be a list of events, or a mapping with one as order")
			return
		}
		s.Caused, s.Since = long.Caused, long.Since
	}
	r.Decode(list, &s.Order, path)
	for i, e := range s.Order {
		if e == nil {
			s.Order[i] = &Event{}
			continue
		}
		e.check(r, list.Content[i], strict.Item(path, i))
		if e.Count != nil || e.Since != "" {
			r.Errorf(list.Content[i], strict.Item(path, i), "is one event of an order, and cannot have its own count or since")
		}
	}
	if len(s.Order) < 2 {
		r.Errorf(list, path, "must be two events or more, in their order")
	}
}

// String returns a short description.
func (s *Events) String() string {
	texts := make([]string, len(s.Order))
	for i, e := range s.Order {
		texts[i] = e.String()
	}
	if s.Caused {
		return "events " + strings.Join(texts, ", which causes ")
	}
	return "events " + strings.Join(texts, ", then ")
}

// eventsTracker follows the order as events arrive.
type eventsTracker struct {
	want  *Events
	marks Marks
	since *Mark
	after uint64
	// chains are the partial orders that may still be completed; without Caused the first one suffices.
	chains [][]uint64
	done   uint64
}

func (t *eventsTracker) DependsOn(k world.Kind) bool { return k == world.Event }

// maxChains bounds the memory if the first event of an order is frequent.
const maxChains = 1000

func (t *eventsTracker) Evaluate(v *View) Finding {
	if t.since == nil {
		t.since = t.marks(t.want.Since)
		t.after = t.since.Seq
	}
	for _, e := range v.World.After(t.after) {
		if t.after = e.Seq; t.done == 0 && !t.since.before(e) {
			t.next(v.World, e)
		}
	}
	return Finding{Met: t.done != 0, Event: t.done}
}

func (t *eventsTracker) next(w *world.World, e event.Event) {
	for i, chain := range t.chains {
		if !t.want.Order[len(chain)].matches(w, e, t.marks) || t.want.Caused && !w.CausedBy(e, chain[len(chain)-1]) {
			continue
		}
		longer := append(append([]uint64(nil), chain...), e.Seq)
		if len(longer) == len(t.want.Order) {
			t.done = e.Seq
			return
		}
		if !t.want.Caused {
			t.chains[i] = longer
			return
		}
		if len(t.chains) < maxChains { // the shorter chain may continue differently
			t.chains = append(t.chains, longer)
		}
	}
	if (t.want.Caused || len(t.chains) == 0) && len(t.chains) < maxChains && t.want.Order[0].matches(w, e, t.marks) {
		t.chains = append(t.chains, []uint64{e.Seq})
	}
}

func (t *eventsTracker) longest() []uint64 {
	var longest []uint64
	for _, chain := range t.chains {
		if len(chain) > len(longest) {
			longest = chain
		}
	}
	return longest
}

func (t *eventsTracker) Describe(v *View) []string {
	if t.done != 0 {
		return []string{"all of them happened, in this order"}
	}
	longest := t.longest()
	var lines []string
	for i, want := range t.want.Order {
		if i < len(longest) {
			e, _ := v.World.Event(longest[i])
			lines = append(lines, "came: "+report(e))
			continue
		}
		why := "did not happen"
		if t.want.Caused && i > 0 {
			why = "was not caused by the one before"
		}
		lines = append(lines, fmt.Sprintf("%s: %s", why, want))
		break
	}
	return lines
}

func (t *eventsTracker) RelatedEvents(v *View) []event.Event {
	if i := len(t.longest()); i < len(t.want.Order) {
		return t.want.Order[i].related(v)
	}
	return nil
}
