package access

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/simulator/esx"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// The system roles that matter here, by identifier.
const (
	roleAdmin     int32 = -1
	roleView      int32 = -3
	roleAnonymous int32 = -4
	roleNoAccess  int32 = -5
)

// firstRole is the identifier of the first custom role.
const firstRole int32 = 1001

// The privileges of every custom role.
const (
	anonymousPrivilege = "System.Anonymous"
	viewPrivilege      = "System.View"
	readPrivilege      = "System.Read"
)

// role is an immutable set of privileges.
type role struct {
	types.AuthorizationRole
	has map[string]struct{}
}

func newRole(id int32, name string, system bool, info types.BaseDescription, privileges []string) *role {
	r := &role{has: make(map[string]struct{}, len(privileges))}
	for _, p := range privileges {
		r.has[p] = struct{}{}
	}
	r.AuthorizationRole = types.AuthorizationRole{
		RoleId: id, Name: name, System: system, Info: info, Privilege: slices.Sorted(maps.Keys(r.has)),
	}
	return r
}

// ownRole returns a custom role. Every custom role has the three System privileges.
func ownRole(id int32, name string, privileges []string) *role {
	privileges = append([]string{anonymousPrivilege, viewPrivilege, readPrivilege}, privileges...)
	return newRole(id, name, false, &types.Description{Label: name, Summary: name}, privileges)
}

// uses reports whether the role has the privilege.
func (r *role) uses(privilege string) bool {
	_, ok := r.has[privilege]
	return ok
}

// systemRoles returns the roles of every vCenter, as vcsim captured them. Admin has all privileges.
func systemRoles() map[int32]*role {
	roles := make(map[int32]*role, len(esx.RoleList))
	for _, r := range esx.RoleList {
		roles[r.RoleId] = newRole(r.RoleId, r.Name, true, r.Info, r.Privilege)
	}
	return roles
}

// privilegeList describes all privileges.
func privilegeList(admin *role) []types.AuthorizationPrivilege {
	var list []types.AuthorizationPrivilege
	for _, id := range admin.Privilege {
		group, name := id, id
		if i := strings.LastIndexByte(id, '.'); i >= 0 {
			group, name = id[:i], id[i+1:]
		}
		list = append(list, types.AuthorizationPrivilege{PrivId: id, Name: name, PrivGroupName: group})
	}
	return list
}

// unknown returns the first unknown privilege.
func (r *rules) unknown(privileges []string) (string, bool) {
	admin := r.roles[roleAdmin]
	for _, p := range privileges {
		if !admin.uses(p) {
			return p, true
		}
	}
	return "", false
}

// roleNamed returns a role by its name, case-insensitively.
func (r *rules) roleNamed(name string) *role {
	for _, role := range r.roles {
		if strings.EqualFold(role.Name, name) {
			return role
		}
	}
	return nil
}

// roleList returns the roles for clients, system roles first.
func (r *rules) roleList() []types.AuthorizationRole {
	list := make([]types.AuthorizationRole, 0, len(r.roles))
	for _, role := range r.roles {
		list = append(list, role.AuthorizationRole)
	}
	slices.SortFunc(list, func(a, b types.AuthorizationRole) int { return cmp.Compare(a.RoleId, b.RoleId) })
	return list
}

// addRoles adds the topology's roles.
func (r *rules) addRoles(defs []topology.RoleDef) error {
	for _, d := range defs {
		if p, bad := r.unknown(d.Privileges); bad {
			return fmt.Errorf("role %q: no privilege %q", d.Name, p)
		}
		if r.roleNamed(d.Name) != nil {
			return fmt.Errorf("role %q: there is one of that name", d.Name)
		}
		r.roles[r.nextRole] = ownRole(r.nextRole, d.Name, d.Privileges)
		r.nextRole++
	}
	return nil
}

// authorizationManager returns vcsim's, which holds the lists that clients read as properties.
func authorizationManager(r *simulator.Registry) *simulator.AuthorizationManager {
	instance, ok := r.Get(vim25.ServiceInstance).(*simulator.ServiceInstance)
	if !ok || instance.Content.AuthorizationManager == nil {
		return nil
	}
	a, _ := r.Get(*instance.Content.AuthorizationManager).(*simulator.AuthorizationManager)
	return a
}

// AddAuthorizationRole adds a custom role.
func (r *receiver) AddAuthorizationRole(ctx *simulator.Context, req *types.AddAuthorizationRole) soap.HasFault {
	body := new(methods.AddAuthorizationRoleBody)
	var added *role
	fault := r.m.change(func(next *rules) types.BaseMethodFault {
		if fault := next.named(req.Name, nil); fault != nil {
			return fault
		}
		if _, bad := next.unknown(req.PrivIds); bad {
			return &types.InvalidArgument{InvalidProperty: "privIds"}
		}
		added = ownRole(next.nextRole, req.Name, req.PrivIds)
		next.roles[added.RoleId] = added
		next.nextRole++
		return nil
	})
	if fault != nil {
		body.Fault_ = soapFault(fault)
		return body
	}
	r.m.post(ctx, &types.RoleAddedEvent{
		RoleEvent: types.RoleEvent{
			AuthorizationEvent: authorizationEvent("New role %s created", added.Name),
			Role:               added.argument(),
		},
		PrivilegeList: added.Privilege,
	})
	body.Res = &types.AddAuthorizationRoleResponse{Returnval: added.RoleId}
	return body
}

// UpdateAuthorizationRole renames a role and replaces its privileges.
func (r *receiver) UpdateAuthorizationRole(ctx *simulator.Context, req *types.UpdateAuthorizationRole) soap.HasFault {
	body := new(methods.UpdateAuthorizationRoleBody)
	var old, updated *role
	fault := r.m.change(func(next *rules) types.BaseMethodFault {
		var fault types.BaseMethodFault
		if old, fault = next.own(req.RoleId); fault != nil {
			return fault
		}
		if fault := next.named(req.NewName, old); fault != nil {
			return fault
		}
		if _, bad := next.unknown(req.PrivIds); bad {
			return &types.InvalidArgument{InvalidProperty: "privIds"}
		}
		updated = ownRole(old.RoleId, req.NewName, req.PrivIds)
		next.roles[old.RoleId] = updated
		return nil
	})
	if fault != nil {
		body.Fault_ = soapFault(fault)
		return body
	}
	r.m.post(ctx, &types.RoleUpdatedEvent{
		RoleEvent: types.RoleEvent{
			AuthorizationEvent: authorizationEvent("Role modified. Previous name: %s, new name: %s", old.Name, updated.Name),
			Role:               updated.argument(),
		},
		PrivilegeList: updated.Privilege, PrevRoleName: old.Name,
		PrivilegesAdded: without(updated.Privilege, old), PrivilegesRemoved: without(old.Privilege, updated),
	})
	body.Res = new(types.UpdateAuthorizationRoleResponse)
	return body
}

// RemoveAuthorizationRole removes a role with its permissions, or refuses if it is in use and failIfUsed is set.
func (r *receiver) RemoveAuthorizationRole(ctx *simulator.Context, req *types.RemoveAuthorizationRole) soap.HasFault {
	body := new(methods.RemoveAuthorizationRoleBody)
	var old *role
	fault := r.m.change(func(next *rules) types.BaseMethodFault {
		var fault types.BaseMethodFault
		if old, fault = next.own(req.RoleId); fault != nil {
			return fault
		}
		for ref, list := range next.granted {
			kept := slices.DeleteFunc(slices.Clone(list), func(p permission) bool { return p.role == req.RoleId })
			switch {
			case len(kept) == len(list):
			case req.FailIfUsed:
				return new(types.RemoveFailed)
			case len(kept) == 0:
				delete(next.granted, ref)
			default:
				next.granted[ref] = kept
			}
		}
		delete(next.roles, req.RoleId)
		return nil
	})
	if fault != nil {
		body.Fault_ = soapFault(fault)
		return body
	}
	r.m.post(ctx, &types.RoleRemovedEvent{RoleEvent: types.RoleEvent{
		AuthorizationEvent: authorizationEvent("Role %s removed", old.Name), Role: old.argument(),
	}})
	body.Res = new(types.RemoveAuthorizationRoleResponse)
	return body
}

// MergePermissions moves all permissions from one role to another.
func (r *receiver) MergePermissions(_ *simulator.Context, req *types.MergePermissions) soap.HasFault {
	body := new(methods.MergePermissionsBody)
	fault := r.m.change(func(next *rules) types.BaseMethodFault {
		if next.roles[req.SrcRoleId] == nil || next.roles[req.DstRoleId] == nil {
			return new(types.NotFound)
		}
		if !grantable(req.DstRoleId) {
			return &types.InvalidArgument{InvalidProperty: "dstRoleId"}
		}
		for ref, list := range next.granted {
			list = slices.Clone(list)
			for i := range list {
				if list[i].role == req.SrcRoleId {
					list[i].role = req.DstRoleId
				}
			}
			next.granted[ref] = list
		}
		if !next.administered(r.m.root) {
			return new(types.AuthMinimumAdminPermission)
		}
		return nil
	})
	if fault != nil {
		body.Fault_ = soapFault(fault)
		return body
	}
	body.Res = new(types.MergePermissionsResponse)
	return body
}

// named refuses an empty name, or that of another role.
func (r *rules) named(name string, but *role) types.BaseMethodFault {
	if strings.TrimSpace(name) == "" {
		return &types.InvalidName{Name: name}
	}
	if other := r.roleNamed(name); other != nil && other != but {
		return &types.AlreadyExists{Name: name}
	}
	return nil
}

// own returns a role that may be changed: not a system role.
func (r *rules) own(id int32) (*role, types.BaseMethodFault) {
	role := r.roles[id]
	switch {
	case role == nil:
		return nil, new(types.NotFound)
	case role.System:
		return nil, &types.InvalidArgument{InvalidProperty: "roleId"}
	}
	return role, nil
}

// grantable reports whether permissions may use the role: View and Anonymous are reserved.
func grantable(id int32) bool { return id != roleView && id != roleAnonymous }

func (r *role) argument() types.RoleEventArgument {
	return types.RoleEventArgument{RoleId: r.RoleId, Name: r.Name}
}

func without(privileges []string, in *role) []string {
	return slices.DeleteFunc(slices.Clone(privileges), in.uses)
}

func authorizationEvent(format string, args ...any) types.AuthorizationEvent {
	return types.AuthorizationEvent{Event: types.Event{FullFormattedMessage: fmt.Sprintf(format, args...)}}
}
