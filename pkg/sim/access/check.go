package access

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// caller returns the user of a call. Clients inside the process have a session without a user and may do everything,
// as the account that is inside.
func (m *Manager) caller(ctx *simulator.Context) *account {
	switch {
	case ctx.Session == nil:
		return nil
	case ctx.Session.UserName == "":
		return m.accounts.inside
	}
	if s := m.sessions.get(ctx.Session.Key); s != nil {
		return s.account
	}
	return nil
}

// allowed tells whether a user has a privilege on an entity.
func (m *Manager) allowed(ctx *simulator.Context, a *account, privilege string, on vc.Ref) bool {
	r := m.rules.Load()
	switch {
	case a == nil:
		return false
	case r.powerful[a]:
		return true
	}
	v := m.view(r, a)
	if has(v.effective(ctx, on), privilege) {
		return true
	}
	return (privilege == viewPrivilege || privilege == anonymousPrivilege) && v.onTheWay(ctx, on)
}

// mayLogin tells whether a user has any permission that lets something be seen.
func (m *Manager) mayLogin(a *account) bool {
	if !m.restricted.Load() {
		return true
	}
	r := m.rules.Load()
	if r.powerful[a] {
		return true
	}
	for ref := range r.granted {
		if roles, found := r.at(a, ref, false); found && has(roles, viewPrivilege) {
			return true
		}
	}
	return false
}

// entity returns the object that permissions for ref are set on: itself if it is an entity, or the entity it belongs to.
func (m *Manager) entity(ctx *simulator.Context, ref vc.Ref) (vc.Ref, bool) {
	if m.tree.has(ref) {
		return ref, true
	}
	switch o := ctx.Map.Get(ref).(type) {
	case *simulator.VirtualMachineSnapshot:
		return o.Vm, true
	case *simulator.HostDatastoreSystem:
		if o.Host != nil {
			return o.Host.Self, true
		}
	case *simulator.HostNetworkSystem:
		if o.Host != nil {
			return o.Host.Self, true
		}
	case *simulator.HostStorageSystem:
		if o.Host != nil {
			return o.Host.Self, true
		}
	}
	return vc.Ref{}, false
}

func (m *Manager) entityOrRoot(ctx *simulator.Context, ref vc.Ref) vc.Ref {
	if on, ok := m.entity(ctx, ref); ok {
		return on
	}
	return m.root
}

// permit checks what a call needs.
func (m *Manager) permit(ctx *simulator.Context, a *account, method *simulator.Method) types.BaseMethodFault {
	if m.rules.Load().powerful[a] {
		return nil
	}
	if ctx.Map != m.base.Map { // another endpoint's, about objects of the inventory all the same
		ctx = vc.Fresh(ctx)
		ctx.Map = m.base.Map
	}
	for _, n := range needsOf(ctx, method) {
		on := m.entityOrRoot(ctx, n.on)
		if !m.allowed(ctx, a, n.privilege, on) {
			return m.noPermission(on, n.privilege)
		}
	}
	return nil
}

// noPermission says it in the way of old and in that of vSphere 8.
func (m *Manager) noPermission(on vc.Ref, privilege string) *types.NoPermission {
	return &types.NoPermission{
		Object:      &on,
		PrivilegeId: privilege,
		MissingPrivileges: []types.NoPermissionEntityPrivileges{
			{Entity: on, PrivilegeIds: []string{privilege}},
		},
	}
}
