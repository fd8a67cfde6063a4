package access

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// permission grants a user or group a role on an object. An object has at most one for each.
type permission struct {
	who       name
	group     bool
	role      int32
	propagate bool
}

// rules are the roles and permissions of one vCenter. They are immutable: readers use the current ones without a lock.
type rules struct {
	roles    map[int32]*role
	nextRole int32
	granted  map[vc.Ref][]permission
	// powerful are the users with all privileges everywhere.
	powerful map[*account]bool
}

// firstRules returns the system's and topology's roles, and the initial permissions of every vCenter.
func (m *Manager) firstRules() (*rules, error) {
	r := &rules{roles: systemRoles(), nextRole: firstRole, granted: make(map[vc.Ref][]permission)}
	if err := r.addRoles(m.options.Roles); err != nil {
		return nil, err
	}
	domain := m.accounts.domain
	r.granted[m.root] = []permission{
		{who: m.accounts.admin.name, role: roleAdmin, propagate: true},
		{who: name{administrators, domain}, group: true, role: roleAdmin, propagate: true},
	}
	if domain != systemDomain {
		r.granted[m.root] = append(r.granted[m.root],
			permission{who: name{administrators, systemDomain}, group: true, role: roleAdmin, propagate: true})
	}
	return r, nil
}

func (r *rules) clone() *rules {
	return &rules{roles: maps.Clone(r.roles), nextRole: r.nextRole, granted: maps.Clone(r.granted)}
}

// change replaces the rules by a changed copy, unless f refuses.
func (m *Manager) change(f func(*rules) types.BaseMethodFault) types.BaseMethodFault {
	m.writing.Lock()
	next := m.rules.Load().clone()
	if fault := f(next); fault != nil {
		m.writing.Unlock()
		return fault
	}
	m.put(next)
	m.writing.Unlock()
	m.options.OnChange()
	return nil
}

// put installs rules.
func (m *Manager) put(r *rules) {
	r.powerful = make(map[*account]bool)
	restricted := false
	for _, a := range m.accounts.list {
		r.powerful[a] = r.mayAll(a, m.root)
		restricted = restricted || !r.powerful[a]
	}
	r.powerful[m.accounts.inside], r.powerful[m.accounts.owner] = true, true
	m.showRoles(r)
	restricted = restricted && !m.options.Stock.Has(stock.Permissions)
	if restricted {
		m.tree.follow()
	}
	m.rules.Store(r)
	m.restricted.Store(restricted)
}

// showRoles updates the roles that clients read as properties.
func (m *Manager) showRoles(r *rules) {
	a := authorizationManager(m.base.Map)
	if a == nil || m.options.Stock.Has(stock.Permissions) {
		return
	}
	roles := r.roleList()
	if old := m.rules.Load(); old != nil && maps.Equal(old.roles, r.roles) {
		return
	}
	vc.Set(vc.Fresh(m.base), a.Self, vc.P("roleList", roles), vc.P("privilegeList", privilegeList(r.roles[roleAdmin])))
}

// mayAll reports whether the user has all privileges: Admin at the root, which permissions below do not reduce.
func (r *rules) mayAll(a *account, root vc.Ref) bool {
	for _, list := range r.granted {
		for _, p := range list {
			if p.appliesTo(a) && p.role != roleAdmin {
				return false
			}
		}
	}
	return slices.ContainsFunc(r.granted[root], func(p permission) bool { return p.appliesTo(a) && p.propagate })
}

func (p permission) appliesTo(a *account) bool {
	if p.group {
		return a.member(p.who)
	}
	return p.who == a.name
}

// at returns the roles of a user by the permissions on one object: the user's own, or else those of all groups. With above, only
// propagating ones count. found is false if the user has no permission.
func (r *rules) at(a *account, ref vc.Ref, above bool) (roles []*role, found bool) {
	for _, p := range r.granted[ref] {
		if above && !p.propagate || !p.appliesTo(a) {
			continue
		}
		if !p.group {
			return []*role{r.roles[p.role]}, true
		}
		roles = append(roles, r.roles[p.role])
	}
	return roles, len(roles) > 0
}

// effective returns the roles of a user on an object: by permissions on the object, or else by the nearest inherited ones. A VM
// inherits from its folder and from its pool.
//
// Source: vSphere Security, "Hierarchical Inheritance of Permissions" and "Multiple Permission Settings".
func (r *rules) effective(a *account, ref vc.Ref, parents func(vc.Ref) []vc.Ref) []*role {
	if roles, found := r.at(a, ref, false); found {
		return roles
	}
	var all []*role
	for _, p := range parents(ref) {
		for {
			if roles, found := r.at(a, p, true); found {
				all = append(all, roles...)
				break
			}
			up := parents(p)
			if len(up) == 0 {
				break
			}
			p = up[0] // only VMs have two
		}
	}
	return all
}

func has(roles []*role, privilege string) bool {
	return slices.ContainsFunc(roles, func(r *role) bool { return r.uses(privilege) })
}

// Grant sets the topology's permissions on an object, replacing those of the same users and groups.
func (m *Manager) Grant(ref vc.Ref, permissions []topology.Permission) error {
	if len(permissions) == 0 {
		return nil
	}
	var err error
	m.change(func(r *rules) types.BaseMethodFault {
		for _, p := range permissions {
			given, group := p.User, false
			if p.Group != "" {
				given, group = p.Group, true
			}
			who, ok := m.accounts.principal(given, group)
			if !ok {
				err = fmt.Errorf("permission for %q: %w", given, ErrNoUser)
				return new(types.UserNotFound)
			}
			role := r.roleNamed(p.Role)
			if role == nil {
				err = fmt.Errorf("permission for %q: no role %q", given, p.Role)
				return new(types.NotFound)
			}
			r.set(ref, permission{who, group, role.RoleId, p.Propagate != topology.No})
		}
		return nil
	})
	return err
}

// set replaces the permission of a user or group on an object.
func (r *rules) set(ref vc.Ref, p permission) {
	list := slices.Clone(r.granted[ref])
	i := slices.IndexFunc(list, func(o permission) bool { return o.who == p.who && o.group == p.group })
	if i >= 0 {
		list[i] = p
	} else {
		list = append(list, p)
	}
	r.granted[ref] = list
}

// unset removes the permission of a user or group on an object.
func (r *rules) unset(ref vc.Ref, who name, group bool) (old permission, removed bool) {
	list := slices.Clone(r.granted[ref])
	i := slices.IndexFunc(list, func(o permission) bool { return o.who == who && o.group == group })
	if i < 0 {
		return permission{}, false
	}
	old = list[i]
	if list = slices.Delete(list, i, i+1); len(list) == 0 {
		delete(r.granted, ref)
	} else {
		r.granted[ref] = list
	}
	return old, true
}

// administered reports whether any user is still Administrator at the root.
func (r *rules) administered(root vc.Ref) bool {
	return slices.ContainsFunc(r.granted[root], func(p permission) bool { return p.role == roleAdmin && p.propagate })
}

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
