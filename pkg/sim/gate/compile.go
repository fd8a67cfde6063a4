package gate

import (
	"errors"
	"fmt"
	"slices"
)

// compile checks a rule for this gate and makes it ready.
func (g *Gate) compile(r Rule) (*entry, error) {
	c := checker{found: r.problems()}
	if g.opts.Identify == nil && (r.Match.User != "" || r.Match.Session != "") {
		c.add("match", "this gate does not know sessions and their users")
	}
	if g.opts.Name == nil && r.Match.Object.Name != "" {
		c.add("match.object.name", "this gate does not know names of objects")
	}
	switch r.Action.(type) {
	case FailTask:
		if g.opts.FailTask == nil {
			c.add("action.failTask", "this gate cannot make tasks")
		}
	case DropSession:
		if g.opts.Identify == nil || g.opts.DropSession == nil {
			c.add("action.dropSession", "this gate cannot end sessions")
		}
	}
	var all []error
	for _, p := range c.found {
		all = append(all, fmt.Errorf("gate %s: %s: %w", g.addr, r.title(), p))
	}
	if len(all) > 0 {
		return nil, errors.Join(all...)
	}
	r.Match.Methods = slices.Clone(r.Match.Methods)
	e := g.newEntry(r)
	if fault, ok := r.Action.(Fault); ok {
		var err error
		if e.fault, err = fault.build(); err != nil {
			return nil, fmt.Errorf("gate %s: %s: %w", g.addr, r.title(), err)
		}
	}
	return e, nil
}
