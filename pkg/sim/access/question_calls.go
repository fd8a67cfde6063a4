package access

import (
	"maps"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// HasPrivilegeOnEntity tells which privileges the user of a session has on an entity.
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
	if ctx.Session.UserName == "" { // inside the process nothing is encoded
		return &methods.HasPrivilegeOnEntityBody{Res: &types.HasPrivilegeOnEntityResponse{Returnval: granted}}
	}
	return &hasPrivilegeOnEntityBody{Res: &hasPrivilegeOnEntityResponse{granted}}
}

// hasPrivilegeOnEntityBody is the answer with every element: govmomi's own leaves out those that are false.
type hasPrivilegeOnEntityBody struct {
	Res    *hasPrivilegeOnEntityResponse `xml:"HasPrivilegeOnEntityResponse"`
	Fault_ *soap.Fault                   `xml:"http://schemas.xmlsoap.org/soap/envelope/ Fault,omitempty"`
}

type hasPrivilegeOnEntityResponse struct {
	Returnval []bool `xml:"returnval"`
}

func (b *hasPrivilegeOnEntityBody) Fault() *soap.Fault { return b.Fault_ }

// HasPrivilegeOnEntities tells which privileges the user of a session has on entities.
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

// HasUserPrivilegeOnEntities tells which privileges a user has on objects.
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

// sessionUser returns the user of a session. That of another session is for who may validate sessions.
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

// on is the entity that counts for an object: for what is no entity it is the root folder (as the API says).
func (r *receiver) on(ctx *simulator.Context, ref vc.Ref) (vc.Ref, types.BaseMethodFault) {
	if ctx.Map.Get(ref) == nil {
		return ref, &types.ManagedObjectNotFound{Obj: ref}
	}
	return r.m.entityOrRoot(ctx, ref), nil
}

// ask asks for each privilege on each object.
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
