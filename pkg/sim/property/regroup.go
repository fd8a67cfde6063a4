package property

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// regroup updates the views of everything that an entity was or is below, with the entity and its descendants. The caller holds
// t.mu.
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

// judge adds an entity to a view or removes it, and reports whether the view changed.
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

// watch fills a new view and keeps it current.
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

// unwatch forgets a view, which keeps its contents.
func (t *tree) unwatch(v *ContainerView) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := v.shown.Container
	t.views[c] = slices.DeleteFunc(t.views[c], func(o *ContainerView) bool { return o == v })
	if len(t.views[c]) == 0 {
		delete(t.views, c)
	}
}

// plant adds the existing entities.
func (s *Service) plant(ctx *simulator.Context) {
	call := *ctx
	for _, obj := range ctx.Map.AllReference("") {
		if _, ok := obj.(mo.Entity); ok {
			call.WithLock(obj, func() { s.tree.put(obj) })
		}
	}
}

// heal reads the entities in doubt, one locked at a time, and notes the changes for the filters.
func (s *Service) heal(ctx *simulator.Context) {
	for ref := range s.tree.takeDoubts() {
		obj := ctx.Map.Get(ref)
		if obj == nil {
			continue // its removal will be noted
		}
		var out moved
		ctx.WithLock(obj, func() { _, out = s.tree.update(obj) })
		s.noteMoved(out)
	}
}

// noteMoved notes the changes of views for their filters.
func (s *Service) noteMoved(m moved) {
	for v, refs := range m {
		s.noteViewChange(v.session, v.Self, refs)
	}
}

// noteViewChange notes, for the filters of a session, objects that may have entered or left a view.
func (s *Service) noteViewChange(session *simulator.Registry, view types.ManagedObjectReference, refs []types.ManagedObjectReference) {
	s.each(func(c *collector) {
		if c.key.session == session {
			c.noteView(view, refs)
		}
	})
}
