package access

import (
	"fmt"
	"maps"
	"slices"

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
