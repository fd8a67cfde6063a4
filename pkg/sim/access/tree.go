package access

import (
	"sync"
	"sync/atomic"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// tree records the parents of all objects, without locking vcsim's objects. It follows the registry once any user lacks
// privileges; before that it costs nothing.
type tree struct {
	base  *simulator.Context
	ref   vc.Ref
	moved atomic.Uint64 // counts changes of parents

	mu        sync.RWMutex
	following bool
	nodes     map[vc.Ref]node
	hosts     map[vc.Ref]vc.Ref // of the ComputeResources of standalone hosts
}

type node struct {
	parent vc.Ref // zero at the root
	pool   vc.Ref // of VMs
}

func newTree(base *simulator.Context) *tree {
	return &tree{
		base:  base,
		ref:   vc.Ref{Type: "SandboxAccessTree", Value: "sandbox-access-tree"},
		nodes: make(map[vc.Ref]node),
		hosts: make(map[vc.Ref]vc.Ref),
	}
}

// follow starts to follow the registry, with the existing objects. The caller must hold no lock of an object.
func (t *tree) follow() {
	t.mu.Lock()
	begun := t.following
	t.following = true
	t.mu.Unlock()
	if begun {
		return
	}
	t.base.Map.AddHandler(t)
	ctx := vc.Fresh(t.base)
	for _, e := range t.base.Map.All("") {
		ctx.WithLock(e, func() { t.put(e) })
	}
}

func (t *tree) close() { t.base.Map.RemoveHandler(t) }

// above returns the objects from which an object inherits permissions: none, one, or a VM's two. The caller may hold the object's
// lock, by ctx.
func (t *tree) above(ctx *simulator.Context, ref vc.Ref) []vc.Ref {
	t.mu.RLock()
	n, ok := t.nodes[ref]
	if !ok {
		t.mu.RUnlock()
		return nil
	}
	if ref.Type == "VirtualMachine" && n.pool == (vc.Ref{}) || ref.Type != "Folder" && n.parent == (vc.Ref{}) {
		t.mu.RUnlock()
		n = t.again(ctx, ref)
		t.mu.RLock()
	}
	defer t.mu.RUnlock()
	switch {
	case n.parent == (vc.Ref{}):
		return nil
	case n.pool != (vc.Ref{}) && n.pool != n.parent:
		return []vc.Ref{n.parent, n.pool}
	case ref.Type == "ResourcePool" && n.parent.Type == "ComputeResource":
		if host, ok := t.hosts[n.parent]; ok {
			return []vc.Ref{host} // the object that users see
		}
	}
	return []vc.Ref{n.parent}
}

// again reads a new object again: vcsim registers a VM before it has a pool, and the resource pool of a compute resource before
// that has a reference.
func (t *tree) again(ctx *simulator.Context, ref vc.Ref) node {
	if obj := t.base.Map.Get(ref); obj != nil {
		ctx.WithLock(obj, func() { t.put(obj) })
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.nodes[ref]
}

func (t *tree) has(ref vc.Ref) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	_, ok := t.nodes[ref]
	return ok
}

// put records the parents of the entity, whose lock is held.
func (t *tree) put(obj mo.Reference) {
	e, ok := obj.(mo.Entity)
	if !ok {
		return
	}
	var n node
	if p := e.Entity().Parent; p != nil {
		n.parent = *p
	}
	switch vm := obj.(type) {
	case *simulator.VirtualMachine:
		n.pool = poolOf(&vm.VirtualMachine)
	case *mo.VirtualMachine:
		n.pool = poolOf(vm)
	}
	ref := e.Reference()
	t.mu.Lock()
	defer t.mu.Unlock()
	// The first pool of a VM changes no earlier decision (view.effective).
	if old, known := t.nodes[ref]; known && old != n && (old.parent != n.parent || old.pool != vc.Ref{}) {
		t.moved.Add(1)
	}
	t.nodes[ref] = n
	if ref.Type == "HostSystem" && n.parent.Type == "ComputeResource" {
		t.hosts[n.parent] = ref
	}
}

// poolOf returns the pool of a VM, or the host of a template, which has no pool.
func poolOf(vm *mo.VirtualMachine) vc.Ref {
	switch {
	case vm.ResourcePool != nil:
		return *vm.ResourcePool
	case vm.Runtime.Host != nil:
		return *vm.Runtime.Host
	}
	return vc.Ref{}
}

// Reference implements simulator.RegisterObject.
func (t *tree) Reference() vc.Ref { return t.ref }

// PutObject implements simulator.RegisterObject.
func (t *tree) PutObject(_ *simulator.Context, obj mo.Reference) { t.put(obj) }

// UpdateObject implements simulator.RegisterObject.
func (t *tree) UpdateObject(_ *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	for _, c := range changes {
		if (c.Name == "parent" || c.Name == "resourcePool" || c.Name == "runtime.host") && t.has(obj.Reference()) {
			t.put(obj)
			return
		}
	}
}

// RemoveObject implements simulator.RegisterObject.
func (t *tree) RemoveObject(_ *simulator.Context, ref vc.Ref) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.nodes[ref]; known {
		delete(t.nodes, ref)
		delete(t.hosts, ref)
		t.moved.Add(1)
	}
}

// view caches what a user may do, for one version of rules and tree.
type view struct {
	user  *account
	rules *rules
	tree  *tree
	moved uint64

	mu    sync.RWMutex
	roles map[vc.Ref][]*role
	way   map[vc.Ref]struct{} // nil until needed
}

// view returns the user's view.
func (m *Manager) view(r *rules, a *account) *view {
	moved := m.tree.moved.Load()
	if old, ok := m.views.Load(a); ok {
		if v := old.(*view); v.rules == r && v.moved == moved {
			return v
		}
	}
	v := &view{user: a, rules: r, tree: m.tree, moved: moved, roles: make(map[vc.Ref][]*role)}
	m.views.Store(a, v)
	return v
}

// effective returns the user's roles on an entity.
func (v *view) effective(ctx *simulator.Context, on vc.Ref) []*role {
	v.mu.RLock()
	roles, known := v.roles[on]
	v.mu.RUnlock()
	if known {
		return roles
	}
	settled := true
	roles = v.rules.effective(v.user, on, func(ref vc.Ref) []vc.Ref {
		above := v.tree.above(ctx, ref)
		// A VM that is being created gets its pool without an update.
		settled = settled && (len(above) > 1 || ref.Type != "VirtualMachine")
		return above
	})
	if settled && v.tree.has(on) {
		v.mu.Lock()
		v.roles[on] = roles
		v.mu.Unlock()
	}
	return roles
}

// onTheWay reports whether the entity is above an object that the user may see: vCenter shows the path to visible objects (its
// role View).
func (v *view) onTheWay(ctx *simulator.Context, on vc.Ref) bool {
	v.mu.RLock()
	way := v.way
	v.mu.RUnlock()
	if way == nil {
		way = v.findWay(ctx)
		v.mu.Lock()
		v.way = way
		v.mu.Unlock()
	}
	_, ok := way[on]
	return ok
}

func (v *view) findWay(ctx *simulator.Context) map[vc.Ref]struct{} {
	way := make(map[vc.Ref]struct{})
	var up func(vc.Ref)
	up = func(ref vc.Ref) {
		for _, p := range v.tree.above(ctx, ref) {
			if _, again := way[p]; !again {
				way[p] = struct{}{}
				up(p)
			}
		}
	}
	for ref := range v.rules.granted {
		if roles, found := v.rules.at(v.user, ref, false); found && has(roles, viewPrivilege) {
			up(ref)
		}
	}
	return way
}
