package property

import (
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// tree holds the hierarchy of entities, and maintains the contents of container views: a new, moved or removed object costs its
// depth and the views that hold it. vcsim walks the whole inventory for every view instead.
//
// It is updated while the changed object is locked, and takes no other lock than its own.
type tree struct {
	mu    sync.Mutex
	nodes map[types.ManagedObjectReference]*node
	views map[types.ManagedObjectReference][]*ContainerView // by container
	count uint64
	// doubts are entities whose links vcsim may have changed without notice.
	doubts map[types.ManagedObjectReference]struct{}
}

// node is an entity, or the place of a missing entity with descendants.
type node struct {
	links
	ref   types.ManagedObjectReference
	there bool
	order uint64 // of appearance
	down  map[types.ManagedObjectReference]struct{}
}

// moved are the objects that entered or left views.
type moved map[*ContainerView][]types.ManagedObjectReference

func newTree() *tree {
	return &tree{
		nodes:  make(map[types.ManagedObjectReference]*node),
		views:  make(map[types.ManagedObjectReference][]*ContainerView),
		doubts: make(map[types.ManagedObjectReference]struct{}),
	}
}

// put records the place of a registered entity, and returns its previous place if that differs. It ignores other objects.
func (t *tree) put(obj mo.Reference) (links, moved) { return t.hang(obj, false) }

// update records the new place of a known entity: vcsim also reports changes of objects that it has not registered yet.
func (t *tree) update(obj mo.Reference) (links, moved) { return t.hang(obj, true) }

func (t *tree) hang(obj mo.Reference, known bool) (was links, out moved) {
	l, entity := linksOf(obj)
	if !entity {
		return was, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.nodes[obj.Reference()]; known && (n == nil || !n.there) {
		return was, nil
	}
	n := t.node(obj.Reference())
	if e, ok := obj.(mo.Entity); ok && e.Entity().Parent != nil && e.Entity().Parent.Value == "" {
		// Its parent has no name yet: vcsim creates the root resource pool before its cluster.
		t.doubts[n.ref] = struct{}{}
	}
	if n.there && slices.Equal(n.up, l.up) {
		n.near = l.near
		return was, nil
	}
	was = n.links
	before := t.above(n.ref)
	t.unhang(n)
	n.links, n.there = l, true
	for _, up := range l.up {
		p := t.node(up)
		if p.down == nil { // most entities have no descendants
			p.down = make(map[types.ManagedObjectReference]struct{})
		}
		p.down[n.ref] = struct{}{}
	}
	return was, t.regroup(n.ref, before)
}

// remove records that an entity is gone, and returns its links. Its descendants are in doubt: they are gone, or have moved.
func (t *tree) remove(ref types.ManagedObjectReference) (was links, entity bool, out moved) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.nodes[ref]
	if n == nil || !n.there {
		return links{}, false, nil
	}
	was = n.links
	before := append(t.above(ref), ref)
	t.unhang(n)
	n.links, n.there = links{}, false
	for child := range n.down {
		t.doubts[child] = struct{}{}
	}
	delete(t.doubts, ref)
	out = t.regroup(ref, before)
	if len(n.down) == 0 {
		delete(t.nodes, ref)
	}
	return was, true, out
}

// doubt marks the links of all entities of a kind as possibly changed.
func (t *tree) doubt(kind string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for ref, n := range t.nodes {
		if n.there && ref.Type == kind {
			t.doubts[ref] = struct{}{}
		}
	}
}

// takeDoubts returns and clears the doubts.
func (t *tree) takeDoubts() map[types.ManagedObjectReference]struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.doubts) == 0 {
		return nil
	}
	d := t.doubts
	t.doubts = make(map[types.ManagedObjectReference]struct{})
	return d
}

// entity reports whether the reference is that of an entity.
func (t *tree) entity(ref types.ManagedObjectReference) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.nodes[ref]
	return n != nil && n.there
}

// The methods below need t.mu.

func (t *tree) node(ref types.ManagedObjectReference) *node {
	n := t.nodes[ref]
	if n == nil {
		t.count++
		n = &node{ref: ref, order: t.count}
		t.nodes[ref] = n
	}
	return n
}

func (t *tree) unhang(n *node) {
	for _, up := range n.up {
		if p := t.nodes[up]; p != nil {
			delete(p.down, n.ref)
			if !p.there && len(p.down) == 0 {
				delete(t.nodes, up)
			}
		}
	}
}

// above lists the ancestors of an entity, nearest first.
func (t *tree) above(ref types.ManagedObjectReference) []types.ManagedObjectReference {
	var out []types.ManagedObjectReference
	for i := -1; i < len(out); i++ {
		if i >= 0 {
			ref = out[i]
		}
		n := t.nodes[ref]
		if n == nil {
			continue
		}
		for _, up := range n.up {
			if !slices.Contains(out, up) {
				out = append(out, up)
			}
		}
	}
	return out
}

// below lists the descendants of an object, in the order of appearance, each once.
func (t *tree) below(ref types.ManagedObjectReference, recursive bool) []types.ManagedObjectReference {
	var found []*node
	seen := map[types.ManagedObjectReference]struct{}{ref: {}}
	var walk func(types.ManagedObjectReference)
	walk = func(ref types.ManagedObjectReference) {
		n := t.nodes[ref]
		if n == nil {
			return
		}
		for child := range n.down {
			if _, known := seen[child]; known {
				continue
			}
			seen[child] = struct{}{}
			found = append(found, t.nodes[child])
			if recursive {
				walk(child)
			}
		}
	}
	walk(ref)
	slices.SortFunc(found, func(a, b *node) int { return int(int64(a.order) - int64(b.order)) })
	out := make([]types.ManagedObjectReference, len(found))
	for i, n := range found {
		out[i] = n.ref
	}
	return out
}

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
