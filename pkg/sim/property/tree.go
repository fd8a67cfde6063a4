package property

import (
	"slices"
	"sync"

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
