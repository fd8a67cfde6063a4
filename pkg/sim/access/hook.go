package access

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/redirect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// Hook is asked before every SOAP call, first of all that a registry's Handler asks. A fault is the answer of the call;
// an object is its receiver, also to be returned as it is. Otherwise the call goes on, perhaps redirected.
//
// It may serve the registries of other endpoints, too (PBM, CNS, VSLM), whose sessions are the same.
func (m *Manager) Hook(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	if ctx.Session == nil {
		return m.stranger(ctx, method)
	}
	if ctx.Session.UserName != "" {
		s := m.sessions.get(ctx.Session.Key)
		if s == nil {
			m.forget(ctx.Session.Key) // vcsim found it while it was being ended
			return nil, notAuthenticated(method.This)
		}
		s.touch()
		if m.restricted.Load() {
			if fault := m.permit(ctx, s.account, method); fault != nil {
				return nil, fault
			}
		}
	}
	switch method.Name {
	case "LoginByToken", "LoginExtensionByCertificate", "LoginExtensionBySubjectName", "LoginBySSPI":
		return nil, new(types.InvalidLogin)
	case "ImpersonateUser":
		return nil, m.noPermission(m.root, "Sessions.ImpersonateUser")
	}
	if ctx.Map == m.base.Map {
		if req, ok := method.Body.(*types.UpdateOptions); ok {
			for _, o := range req.ChangedValue {
				m.idleFrom(o)
			}
		}
		if method.This.Type != "SearchIndex" || m.restricted.Load() {
			m.receiver.Redirect(ctx, method)
		}
	}
	return nil, nil
}

// stranger handles a call without a session. vcsim itself refuses most.
func (m *Manager) stranger(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	if ctx.Map != m.base.Map {
		return nil, nil
	}
	switch method.Name {
	case "LoginByToken", "LoginExtensionByCertificate", "LoginExtensionBySubjectName", "LoginBySSPI":
		return nil, new(types.InvalidLogin)
	case "Login", "CloneSession":
		if method.This == m.base.Map.SessionManager().Self {
			return m.receiver, nil
		}
	case "Fetch":
		return nil, notAuthenticated(method.This)
	case "RetrieveProperties":
		if req, ok := method.Body.(*types.RetrieveProperties); !ok || !public(req.SpecSet) {
			return nil, notAuthenticated(method.This)
		}
	case "RetrievePropertiesEx":
		if req, ok := method.Body.(*types.RetrievePropertiesEx); !ok || !public(req.SpecSet) {
			return nil, notAuthenticated(method.This)
		}
	}
	return nil, nil
}

// public tells whether only the service instance is read, which is for everybody.
func public(specs []types.PropertyFilterSpec) bool {
	for _, spec := range specs {
		for _, o := range spec.ObjectSet {
			if o.Obj.Type != "ServiceInstance" || len(o.SelectSet) > 0 {
				return false
			}
		}
	}
	return true
}

// receiver answers calls in the place of objects of vcsim's.
type receiver struct {
	redirect.Receiver
	m *Manager
}

func newReceiver(m *Manager) *receiver {
	answers := map[string][]string{
		"SessionManager": {
			"Login", "Logout", "TerminateSession", "SessionIsActive", "AcquireCloneTicket", "CloneSession",
		},
	}
	if !m.options.Stock.Has(stock.Permissions) {
		answers["AuthorizationManager"] = []string{
			"AddAuthorizationRole", "UpdateAuthorizationRole", "RemoveAuthorizationRole", "MergePermissions",
			"RetrieveAllPermissions", "RetrieveEntityPermissions", "RetrieveRolePermissions",
			"SetEntityPermissions", "RemoveEntityPermission", "ResetEntityPermissions",
			"HasPrivilegeOnEntities", "HasPrivilegeOnEntity", "HasUserPrivilegeOnEntities",
			"FetchUserPrivilegeOnEntities",
		}
		answers["UserDirectory"] = []string{"RetrieveUserGroups"}
		answers["SearchIndex"] = []string{"FindByInventoryPath", "FindChild", "FindByDatastorePath"}
	}
	return &receiver{
		Receiver: redirect.Receiver{
			Self:    vc.Ref{Type: "SandboxAccess", Value: "sandbox-access"},
			Methods: answers,
		},
		m: m,
	}
}

func soapFault(fault types.BaseMethodFault) *soap.Fault {
	text := ""
	switch fault.(type) {
	case *types.NotAuthenticated:
		text = "The session is not authenticated."
	case *types.InvalidLogin:
		text = "Cannot complete login due to an incorrect user name or password."
	case *types.NoPermission:
		text = "Permission to perform this operation was denied."
	}
	return simulator.Fault(text, fault)
}
