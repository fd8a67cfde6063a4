package scenario

import (
	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
)

// statement checks the names in an expectation: earlier steps, and objects of the topology.
func (c *checker) statement(s *Step, _ int) {
	x := s.Statement()
	if x == nil {
		c.key(s, string(s.Action), "must say of what: %v", expect.Subjects())
		return
	}
	_, node := strict.Find(s.node, string(s.Action))
	path := strict.Below(s.path, string(s.Action))
	x.Walk(func(x *expect.Expectation) {
		switch {
		case x.Rows != nil:
			c.rows(s, x.Rows, path)
		case x.Event != nil:
			c.since(s, x.Event.Since, node, path)
			c.event(x.Event, node, path)
		case x.Events != nil:
			c.since(s, x.Events.Since, node, path)
			for _, e := range x.Events.Order {
				c.event(e, node, path)
			}
		case x.Calls != nil:
			c.since(s, x.Calls.Since, node, path)
			c.places.check(c, world.VCenter, x.Calls.VCenter, node, path)
		case x.Log != nil:
			c.since(s, x.Log.Since, node, path)
			c.places.check(c, world.Component, x.Log.Component, node, path)
		case x.Metric != nil:
			c.since(s, x.Metric.Since, node, path)
			c.places.check(c, world.Component, x.Metric.Component, node, path)
		}
	})
}

// rows checks names. Any name may be expected not to exist, but an expectation of a name that never existed has no use.
func (c *checker) rows(_ *Step, rows *expect.Rows, path string) {
	for name, node := range rows.NameNodes() {
		c.places.check(c, rows.Kind, name, node, strict.Below(path, string(rows.Kind)))
	}
}

func (c *checker) event(e *expect.Event, node *yaml.Node, path string) {
	c.places.check(c, world.VCenter, e.VCenter, node, path)
	c.places.object(c, e.Object, node, path)
	if e.Cause == nil {
		return
	}
	if e.Cause.Event != nil {
		c.event(e.Cause.Event, node, path)
		return
	}
	if name := e.Cause.Name; c.marks[name] == nil && !isEventKind(name) {
		c.Unknown(node, strict.Below(path, "cause"), "step, and no kind of event,", name, c.names())
	}
}

// isEventKind reports whether a text can be the kind of an event: it has a dot, or is a pattern.
func isEventKind(text string) bool {
	for _, r := range text {
		if r == '.' || r == '*' {
			return true
		}
	}
	return strict.IsLate(text)
}

func (c *checker) since(s *Step, name string, node *yaml.Node, path string) {
	if name == "" || name == expect.SinceStart || name == expect.SinceStep || c.marks[name] != nil || name == s.As {
		return
	}
	c.Unknown(node, strict.Below(path, "since"), "step", name, append(c.names(), expect.SinceStart, expect.SinceStep))
}

func (c *checker) names() []string {
	var names []string
	for name := range c.marks {
		names = append(names, name)
	}
	return names
}
