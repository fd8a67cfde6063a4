package access

import (
	"cmp"
	"maps"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// HasPrivilegeOnEntity reports which privileges the user of a session has on an entity.
func (r *receiver) HasPrivilegeOnEntity(ctx *simulator.Context, req *types.HasPrivilegeOnEntity) soap.HasFault {
	a, fault := r.sessionUser(ctx, req.SessionId)
	var answers []types.EntityPrivilege
	if fault == nil {
		answers, fault = r.ask(ctx, a, []vc.Ref{req.Entity}, req.PrivId)
	}
	if fault != nil {
		return &methods.HasPrivilegeOnEntityBody{Fault_: soapFault(fault)}
	}
	granted := make([]bool, len(req.PrivId))
	for i, p := range answers[0].PrivAvailability {
		granted[i] = p.IsGranted
	}
	if ctx.Session.UserName == "" { // sessions within the process have no user
		return &methods.HasPrivilegeOnEntityBody{Res: &types.HasPrivilegeOnEntityResponse{Returnval: granted}}
	}
	return &hasPrivilegeOnEntityBody{Res: &hasPrivilegeOnEntityResponse{granted}}
}

// hasPrivilegeOnEntityBody is the answer with every element: govmomi's type omits false values.
type hasPrivilegeOnEntityBody struct {
	Res    *hasPrivilegeOnEntityResponse `xml:"HasPrivilegeOnEntityResponse"`
	Fault_ *soap.Fault                   `xml:"http://schemas.xmlsoap.org/soap/envelope/ Fault,omitempty"`
}

type hasPrivilegeOnEntityResponse struct {
	Returnval []bool `xml:"returnval"`
}

func (b *hasPrivilegeOnEntityBody) Fault() *soap.Fault { return b.Fault_ }

// HasPrivilegeOnEntities reports which privileges the user of a session has on entities.
func (r *receiver) HasPrivilegeOnEntities(ctx *simulator.Context, req *types.HasPrivilegeOnEntities) soap.HasFault {
	body := new(methods.HasPrivilegeOnEntitiesBody)
	a, fault := r.sessionUser(ctx, req.SessionId)
	var answers []types.EntityPrivilege
	if fault == nil {
		answers, fault = r.ask(ctx, a, req.Entity, req.PrivId)
	}
	if fault != nil {
		body.Fault_ = soapFault(fault)
		return body
	}
	body.Res = &types.HasPrivilegeOnEntitiesResponse{Returnval: answers}
	return body
}

// HasUserPrivilegeOnEntities reports which privileges a user has on objects.
func (r *receiver) HasUserPrivilegeOnEntities(ctx *simulator.Context, req *types.HasUserPrivilegeOnEntities) soap.HasFault {
	body := new(methods.HasUserPrivilegeOnEntitiesBody)
	a, fault := r.user(req.UserName)
	var answers []types.EntityPrivilege
	if fault == nil {
		answers, fault = r.ask(ctx, a, req.Entities, req.PrivId)
	}
	if fault != nil {
		body.Fault_ = soapFault(fault)
		return body
	}
	body.Res = &types.HasUserPrivilegeOnEntitiesResponse{Returnval: answers}
	return body
}

// FetchUserPrivilegeOnEntities lists all privileges that a user has on objects.
func (r *receiver) FetchUserPrivilegeOnEntities(ctx *simulator.Context, req *types.FetchUserPrivilegeOnEntities) soap.HasFault {
	body := new(methods.FetchUserPrivilegeOnEntitiesBody)
	a, fault := r.user(req.UserName)
	if fault != nil {
		body.Fault_ = soapFault(fault)
		return body
	}
	body.Res = new(types.FetchUserPrivilegeOnEntitiesResponse)
	all := r.m.rules.Load().roles[roleAdmin].Privilege
	for _, ref := range req.Entities {
		on, fault := r.on(ctx, ref)
		if fault != nil {
			return &methods.FetchUserPrivilegeOnEntitiesBody{Fault_: soapFault(fault)}
		}
		own := make(map[string]struct{})
		for _, p := range all {
			if r.m.allowed(ctx, a, p, on) {
				own[p] = struct{}{}
			}
		}
		body.Res.Returnval = append(body.Res.Returnval, types.UserPrivilegeResult{
			Entity: ref, Privileges: slices.Sorted(maps.Keys(own)),
		})
	}
	return body
}

// sessionUser returns the user of a session. Another session requires the privilege to validate sessions.
func (r *receiver) sessionUser(ctx *simulator.Context, key string) (*account, types.BaseMethodFault) {
	if ctx.Session.Key == key {
		return r.m.caller(ctx), nil
	}
	if !r.m.allowed(ctx, r.m.caller(ctx), "Sessions.ValidateSession", r.m.root) {
		return nil, r.m.noPermission(r.m.root, "Sessions.ValidateSession")
	}
	s := r.m.sessions.get(key)
	if s == nil {
		return nil, &types.InvalidArgument{InvalidProperty: "sessionId"}
	}
	return s.account, nil
}

func (r *receiver) user(given string) (*account, types.BaseMethodFault) {
	a := r.m.accounts.find(given)
	if a == nil || a.inside {
		return nil, &types.UserNotFound{Principal: given}
	}
	return a, nil
}

// on returns the entity whose permissions count for an object: the root folder if the object is not an entity (as in the API).
func (r *receiver) on(ctx *simulator.Context, ref vc.Ref) (vc.Ref, types.BaseMethodFault) {
	if ctx.Map.Get(ref) == nil {
		return ref, &types.ManagedObjectNotFound{Obj: ref}
	}
	return r.m.entityOrRoot(ctx, ref), nil
}

// ask checks each privilege on each object.
func (r *receiver) ask(ctx *simulator.Context, a *account, refs []vc.Ref, wanted []string) ([]types.EntityPrivilege, types.BaseMethodFault) {
	rules := r.m.rules.Load()
	answers := make([]types.EntityPrivilege, 0, len(refs))
	for _, ref := range refs {
		on, fault := r.on(ctx, ref)
		if fault != nil {
			return nil, fault
		}
		answer := types.EntityPrivilege{Entity: ref}
		for _, p := range wanted {
			_, bad := rules.unknown([]string{p})
			answer.PrivAvailability = append(answer.PrivAvailability, types.PrivilegeAvailability{
				PrivId: p, IsGranted: !bad && r.m.allowed(ctx, a, p, on),
			})
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

// SetEntityPermissions adds permissions on an entity, replacing those of the same users and groups.
func (r *receiver) SetEntityPermissions(ctx *simulator.Context, req *types.SetEntityPermissions) soap.HasFault {
	body := new(methods.SetEntityPermissionsBody)
	if fault := r.assign(ctx, req.Entity, req.Permission, false); fault != nil {
		body.Fault_ = soapFault(fault)
		return body
	}
	body.Res = new(types.SetEntityPermissionsResponse)
	return body
}

// ResetEntityPermissions replaces all permissions on an entity.
func (r *receiver) ResetEntityPermissions(ctx *simulator.Context, req *types.ResetEntityPermissions) soap.HasFault {
	body := new(methods.ResetEntityPermissionsBody)
	if fault := r.assign(ctx, req.Entity, req.Permission, true); fault != nil {
		body.Fault_ = soapFault(fault)
		return body
	}
	body.Res = new(types.ResetEntityPermissionsResponse)
	return body
}

// assign sets the permissions on an entity, and with reset removes all others.
func (r *receiver) assign(ctx *simulator.Context, on vc.Ref, wanted []types.Permission, reset bool) types.BaseMethodFault {
	entity, fault := argument(ctx, on)
	if fault != nil {
		return fault
	}
	var events []types.BaseEvent
	fault = r.m.change(func(next *rules) types.BaseMethodFault {
		before := next.granted[on]
		if reset {
			delete(next.granted, on)
		}
		for _, w := range wanted {
			p, fault := r.m.permission(next, w)
			if fault != nil {
				return fault
			}
			next.set(on, p)
			events = append(events, added(before, p, next, entity))
		}
		for _, p := range before {
			if !slices.ContainsFunc(next.granted[on], func(o permission) bool { return o.who == p.who && o.group == p.group }) {
				events = append(events, removed(p, entity))
			}
		}
		if !next.administered(r.m.root) {
			return new(types.AuthMinimumAdminPermission)
		}
		return nil
	})
	if fault == nil {
		r.m.post(ctx, events...)
	}
	return fault
}

// permission validates a permission.
func (m *Manager) permission(r *rules, p types.Permission) (permission, types.BaseMethodFault) {
	who, ok := m.accounts.principal(p.Principal, p.Group)
	switch {
	case !ok:
		return permission{}, &types.UserNotFound{Principal: p.Principal}
	case r.roles[p.RoleId] == nil:
		return permission{}, new(types.NotFound)
	case !grantable(p.RoleId):
		return permission{}, &types.InvalidArgument{InvalidProperty: "permission.roleId"}
	}
	return permission{who, p.Group, p.RoleId, p.Propagate}, nil
}

// RemoveEntityPermission removes a permission from an entity.
func (r *receiver) RemoveEntityPermission(ctx *simulator.Context, req *types.RemoveEntityPermission) soap.HasFault {
	body := new(methods.RemoveEntityPermissionBody)
	entity, fault := argument(ctx, req.Entity)
	var gone permission
	if fault == nil {
		fault = r.m.change(func(next *rules) types.BaseMethodFault {
			who, ok := r.m.accounts.principal(req.User, req.IsGroup)
			if ok {
				gone, ok = next.unset(req.Entity, who, req.IsGroup)
			}
			switch {
			case !ok:
				return new(types.NotFound)
			case !next.administered(r.m.root):
				return new(types.AuthMinimumAdminPermission)
			}
			return nil
		})
	}
	if fault != nil {
		body.Fault_ = soapFault(fault)
		return body
	}
	r.m.post(ctx, removed(gone, entity))
	body.Res = new(types.RemoveEntityPermissionResponse)
	return body
}

// RetrieveAllPermissions lists all permissions.
func (r *receiver) RetrieveAllPermissions(*simulator.Context, *types.RetrieveAllPermissions) soap.HasFault {
	all := r.permissions(func(permission) bool { return true })
	return &methods.RetrieveAllPermissionsBody{Res: &types.RetrieveAllPermissionsResponse{Returnval: all}}
}

// RetrieveRolePermissions lists the permissions that use a role.
func (r *receiver) RetrieveRolePermissions(_ *simulator.Context, req *types.RetrieveRolePermissions) soap.HasFault {
	body := new(methods.RetrieveRolePermissionsBody)
	if r.m.rules.Load().roles[req.RoleId] == nil {
		body.Fault_ = soapFault(new(types.NotFound))
		return body
	}
	of := r.permissions(func(p permission) bool { return p.role == req.RoleId })
	body.Res = &types.RetrieveRolePermissionsResponse{Returnval: of}
	return body
}

// RetrieveEntityPermissions lists the permissions on an entity and, on request, inherited ones.
func (r *receiver) RetrieveEntityPermissions(ctx *simulator.Context, req *types.RetrieveEntityPermissions) soap.HasFault {
	body := new(methods.RetrieveEntityPermissionsBody)
	if _, fault := argument(ctx, req.Entity); fault != nil {
		body.Fault_ = soapFault(fault)
		return body
	}
	rules := r.m.rules.Load()
	r.m.tree.follow()
	list := rules.on(req.Entity, false)
	if req.Inherited {
		seen := make(map[vc.Ref]bool)
		var up func(vc.Ref)
		up = func(ref vc.Ref) {
			for _, p := range r.m.tree.above(ctx, ref) {
				if !seen[p] {
					seen[p] = true
					list = append(list, rules.on(p, true)...)
					up(p)
				}
			}
		}
		up(req.Entity)
	}
	body.Res = &types.RetrieveEntityPermissionsResponse{Returnval: list}
	return body
}

// on lists the permissions on one entity, or the propagating ones.
func (r *rules) on(ref vc.Ref, propagating bool) []types.Permission {
	var list []types.Permission
	for _, p := range r.granted[ref] {
		if p.propagate || !propagating {
			list = append(list, p.external(ref))
		}
	}
	return list
}

// permissions lists the matching permissions on existing objects.
func (r *receiver) permissions(match func(permission) bool) []types.Permission {
	var list []types.Permission
	for ref, on := range r.m.rules.Load().granted {
		if r.m.base.Map.Get(ref) == nil {
			continue
		}
		for _, p := range on {
			if match(p) {
				list = append(list, p.external(ref))
			}
		}
	}
	slices.SortStableFunc(list, func(a, b types.Permission) int {
		return cmp.Or(cmp.Compare(a.Entity.Value, b.Entity.Value), cmp.Compare(a.Principal, b.Principal))
	})
	return list
}

func (p permission) external(on vc.Ref) types.Permission {
	return types.Permission{
		Entity: &on, Principal: p.who.down(), Group: p.group, RoleId: p.role, Propagate: p.propagate,
	}
}

// argument returns the reference to an entity for events. It fails for other and missing objects.
func argument(ctx *simulator.Context, ref vc.Ref) (types.ManagedEntityEventArgument, types.BaseMethodFault) {
	var a types.ManagedEntityEventArgument
	obj := ctx.Map.Get(ref)
	e, ok := obj.(mo.Entity)
	switch {
	case obj == nil:
		return a, &types.ManagedObjectNotFound{Obj: ref}
	case !ok:
		return a, &types.InvalidArgument{InvalidProperty: "entity"}
	}
	a.Entity = ref
	ctx.WithLock(e, func() { a.Name = e.Entity().Name })
	return a, nil
}

// added returns the event of a new or changed permission.
func added(before []permission, p permission, r *rules, on types.ManagedEntityEventArgument) types.BaseEvent {
	e := types.PermissionEvent{
		AuthorizationEvent: authorizationEvent("Permission created for %s on %s, role is %s, propagation is %s",
			p.who.down(), on.Name, r.roles[p.role].Name, onOff(p.propagate)),
		Entity: on, Principal: p.who.down(), Group: p.group,
	}
	i := slices.IndexFunc(before, func(o permission) bool { return o.who == p.who && o.group == p.group })
	if i < 0 {
		return &types.PermissionAddedEvent{PermissionEvent: e, Role: r.roles[p.role].argument(), Propagate: p.propagate}
	}
	old := r.roles[before[i].role].argument()
	e.AuthorizationEvent = authorizationEvent("Permission changed for %s on %s, role is %s, propagation is %s",
		p.who.down(), on.Name, r.roles[p.role].Name, onOff(p.propagate))
	return &types.PermissionUpdatedEvent{
		PermissionEvent: e, Role: r.roles[p.role].argument(), Propagate: p.propagate,
		PrevRole: &old, PrevPropagate: &before[i].propagate,
	}
}

func removed(p permission, on types.ManagedEntityEventArgument) types.BaseEvent {
	return &types.PermissionRemovedEvent{PermissionEvent: types.PermissionEvent{
		AuthorizationEvent: authorizationEvent("Permission rule removed for %s on %s", p.who.down(), on.Name),
		Entity:             on, Principal: p.who.down(), Group: p.group,
	}}
}

func onOff(on bool) string {
	if on {
		return "enabled"
	}
	return "disabled"
}

// post adds events by the call's user.
func (m *Manager) post(ctx *simulator.Context, events ...types.BaseEvent) {
	for _, e := range events {
		vc.Post(ctx, e)
	}
}
