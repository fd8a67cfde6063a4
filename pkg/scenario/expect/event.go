package expect

import (
	"fmt"
	"regexp"
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
	for _, cause := range w.Causes(got) {
		if c.Event != nil && c.Event.matches(w, cause, marks) || c.Event == nil && Match(c.Name, cause.Kind) {
			return true
		}
	}
	return false
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

func (t *eventTracker) Concerns(k world.Kind) bool { return k == world.Event }

func (t *eventTracker) Look(v *View) Finding {
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

func (t *eventTracker) Was(v *View) []string {
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

func (t *eventTracker) Related(v *View) []event.Event { return t.want.related(v) }

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
