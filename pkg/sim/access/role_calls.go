package access

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// AddAuthorizationRole adds a role of one's own.
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

// RemoveAuthorizationRole removes a role, and with it its permissions, unless that is to be refused.
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

// MergePermissions gives all permissions of one role another role.
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

// named refuses a name that is none, or another role's.
func (r *rules) named(name string, but *role) types.BaseMethodFault {
	if strings.TrimSpace(name) == "" {
		return &types.InvalidName{Name: name}
	}
	if other := r.roleNamed(name); other != nil && other != but {
		return &types.AlreadyExists{Name: name}
	}
	return nil
}

// own finds a role that may be changed: the system's may not.
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

// grantable tells whether a permission may have the role: View and Anonymous are vCenter's own.
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
