package property

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// regroup brings the views of everything that an entity was below, or is below
// now, up to date with the entity and what is below it. t.mu is held.
func (t *tree) regroup(ref types.ManagedObjectReference, before []types.ManagedObjectReference) moved {
	var affected []*ContainerView
	after := t.above(ref)
	for _, c := range before {
		affected = append(affected, t.views[c]...)
	}
	for _, c := range after {
		if !slices.Contains(before, c) {
			affected = append(affected, t.views[c]...)
		}
	}
	if len(affected) == 0 {
		return nil
	}
	out := make(moved)
	judge := func(ref types.ManagedObjectReference, above []types.ManagedObjectReference) {
		for _, v := range affected {
			if t.judge(v, ref, above) {
				out[v] = append(out[v], ref)
			}
		}
	}
	judge(ref, after)
	if n := t.nodes[ref]; n != nil && len(n.down) != 0 {
		for _, below := range t.below(ref, true) {
			judge(below, t.above(below))
		}
	}
	return out
}

// judge puts an entity into a view or takes it out, and says whether it did
// either.
func (t *tree) judge(v *ContainerView, ref types.ManagedObjectReference, above []types.ManagedObjectReference) bool {
	n := t.nodes[ref]
	in := n != nil && n.there && v.includes(ref.Type)
	if in && v.shown.Recursive {
		in = slices.Contains(above, v.shown.Container)
	} else if in {
		in = slices.Contains(n.up, v.shown.Container)
	}
	if in {
		return v.content.add(ref)
	}
	return v.content.remove(ref)
}

// watch fills a new view and keeps it current from here on.
func (t *tree) watch(v *ContainerView) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, ref := range t.below(v.shown.Container, v.shown.Recursive) {
		if n := t.nodes[ref]; n.there && v.includes(ref.Type) {
			v.content.add(ref)
		}
	}
	t.views[v.shown.Container] = append(t.views[v.shown.Container], v)
}

// unwatch forgets a view. It keeps what it holds.
func (t *tree) unwatch(v *ContainerView) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := v.shown.Container
	t.views[c] = slices.DeleteFunc(t.views[c], func(o *ContainerView) bool { return o == v })
	if len(t.views[c]) == 0 {
		delete(t.views, c)
	}
}

// plant notes the entities that are there already.
func (s *Service) plant(ctx *simulator.Context) {
	call := *ctx
	for _, obj := range ctx.Map.AllReference("") {
		if _, ok := obj.(mo.Entity); ok {
			call.WithLock(obj, func() { s.tree.put(obj) })
		}
	}
}

// heal looks at the entities in doubt, one locked at a time, and tells the
// filters what came of it.
func (s *Service) heal(ctx *simulator.Context) {
	for ref := range s.tree.takeDoubts() {
		obj := ctx.Map.Get(ref)
		if obj == nil {
			continue // its removal is noted when it comes
		}
		var out moved
		ctx.WithLock(obj, func() { _, out = s.tree.update(obj) })
		s.tellMoved(out)
	}
}

// tellMoved tells the filters on views what came and went.
func (s *Service) tellMoved(m moved) {
	for v, refs := range m {
		s.tellView(v.session, v.Self, refs)
	}
}

// tellView tells the filters of a session that a view may hold an object now
// that it did not hold, or the other way round.
func (s *Service) tellView(session *simulator.Registry, view types.ManagedObjectReference, refs []types.ManagedObjectReference) {
	s.each(func(c *collector) {
		if c.key.session == session {
			c.noteView(view, refs)
		}
	})
}
