package access

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/redirect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// Hook must be called before every SOAP call, first in a registry's Handler. If it returns a fault, that is the answer of the
// call; if it returns an object, that is the receiver. Otherwise the call continues, perhaps redirected.
//
// It also serves the registries of other endpoints (PBM, CNS, VSLM), which share the sessions.
func (m *Manager) Hook(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	if ctx.Session == nil {
		return m.stranger(ctx, method)
	}
	if s, ok := ctx.Value(asKey{}).(*session); ok && ctx.Session.UserName == "" {
		ctx.Session = s.inside(ctx)
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

// asKey is the key of the session in the contexts of [Manager.As].
type asKey struct{}

// As returns a context for calls in the process (simulator.Service.RoundTrip) in the name of the user of a session, with the
// user's privileges. The calls do not share the views and filters of the session. It returns ctx if the session has ended: then
// the calls must not be made.
func (m *Manager) As(ctx context.Context, id string) (as context.Context, ok bool) {
	s := m.sessions.byCookie(id)
	if s == nil {
		return ctx, false
	}
	return context.WithValue(ctx, asKey{}, s), true
}

// inside returns a session of vcsim for calls in the process.
func (s *session) inside(ctx *simulator.Context) *simulator.Session {
	return &simulator.Session{
		UserSession: types.UserSession{Key: s.key, UserName: s.account.name.down(), FullName: s.account.name.full()},
		Registry:    simulator.NewRegistry(),
		Map:         ctx.Map,
	}
}

// stranger handles a call without a session. vcsim refuses most of them.
func (m *Manager) stranger(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	if ctx.Map != m.base.Map {
		return nil, nil
	}
	switch method.Name {
	case "LoginExtensionByCertificate", "LoginExtensionBySubjectName", "LoginBySSPI":
		return nil, new(types.InvalidLogin)
	case "Login", "LoginByToken", "CloneSession":
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

// public reports whether only the service instance is read, which needs no session.
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

// receiver answers calls in the place of vcsim's objects.
type receiver struct {
	redirect.Receiver
	m *Manager
}

func newReceiver(m *Manager) *receiver {
	answers := map[string][]string{
		"SessionManager": {
			"Login", "LoginByToken", "Logout", "TerminateSession", "SessionIsActive", "AcquireCloneTicket", "CloneSession",
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

// Searches do not find objects that the user may not see, and do not report that, as in vCenter: "the managed entity that is
// found, or null". Searches by UUID, DNS name and address are in pkg/sim/corrections, with [Manager.Filter].

// FindByInventoryPath returns the object at a path.
func (r *receiver) FindByInventoryPath(ctx *simulator.Context, req *types.FindByInventoryPath) soap.HasFault {
	answer := ctx.Map.SearchIndex().FindByInventoryPath(ctx, req)
	if body, ok := answer.(*methods.FindByInventoryPathBody); ok && body.Res != nil {
		body.Res.Returnval = r.seen(ctx, body.Res.Returnval)
	}
	return answer
}

// FindChild returns a child by name.
func (r *receiver) FindChild(ctx *simulator.Context, req *types.FindChild) soap.HasFault {
	answer := ctx.Map.SearchIndex().FindChild(ctx, req)
	if body, ok := answer.(*methods.FindChildBody); ok && body.Res != nil {
		body.Res.Returnval = r.seen(ctx, body.Res.Returnval)
	}
	return answer
}

// FindByDatastorePath returns a VM by its configuration file.
func (r *receiver) FindByDatastorePath(ctx *simulator.Context, req *types.FindByDatastorePath) soap.HasFault {
	answer := ctx.Map.SearchIndex().FindByDatastorePath(ctx, req)
	if body, ok := answer.(*methods.FindByDatastorePathBody); ok && body.Res != nil {
		body.Res.Returnval = r.seen(ctx, body.Res.Returnval)
	}
	return answer
}

func (r *receiver) seen(ctx *simulator.Context, ref *vc.Ref) *vc.Ref {
	if ref == nil || !r.m.Visible(ctx, *ref) {
		return nil
	}
	return ref
}

// RetrieveUserGroups searches users and groups by name.
func (r *receiver) RetrieveUserGroups(_ *simulator.Context, req *types.RetrieveUserGroups) soap.HasFault {
	var found []types.BaseUserSearchResult
	add := func(n name, group bool) {
		if req.Domain != "" && !strings.EqualFold(req.Domain, n.domain) {
			return
		}
		wanted := parseName(req.SearchStr)
		if req.ExactMatch && wanted != n && wanted != (name{user: n.user}) ||
			!req.ExactMatch && !strings.Contains(n.user, wanted.user) {
			return
		}
		found = append(found, &types.UserSearchResult{Principal: n.user, FullName: n.full(), Group: group})
	}
	if req.FindUsers {
		group := parseName(req.BelongsToGroup).in(cmp.Or(req.Domain, r.m.accounts.domain))
		for _, a := range r.m.accounts.list {
			if req.BelongsToGroup == "" || a.member(group) {
				add(a.name, false)
			}
		}
	}
	if req.FindGroups {
		for g := range r.m.accounts.groups {
			add(g, true)
		}
	}
	slices.SortStableFunc(found, func(a, b types.BaseUserSearchResult) int {
		x, y := a.GetUserSearchResult(), b.GetUserSearchResult()
		return strings.Compare(x.FullName, y.FullName)
	})
	return &methods.RetrieveUserGroupsBody{Res: &types.RetrieveUserGroupsResponse{Returnval: found}}
}

// name is the name of a user or group as vCenter compares it: case-insensitively, in either of the forms "user@domain" and
// "DOMAIN\user". The domain may be empty.
type name struct{ user, domain string }

func parseName(s string) name {
	s = strings.ToLower(strings.TrimSpace(s))
	if domain, user, ok := strings.Cut(s, `\`); ok {
		return name{user, domain}
	}
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		return name{s[:i], s[i+1:]}
	}
	return name{user: s}
}

// in returns the name with a domain, by default the given one.
func (n name) in(domain string) name {
	if n.domain == "" {
		n.domain = strings.ToLower(domain)
	}
	return n
}

// down returns the form in sessions, events and permissions ("VSPHERE.LOCAL\administrator").
func (n name) down() string {
	if n.domain == "" {
		return n.user
	}
	return strings.ToUpper(n.domain) + `\` + n.user
}

// full returns the form of the full name ("administrator vsphere.local").
func (n name) full() string { return strings.TrimSpace(n.user + " " + n.domain) }

// Visible reports whether the user of the call may see the object: has System.View on it, or on an object below it. Objects
// without permissions are as visible as the object to which they belong, or always visible. The caller must hold no lock of an
// object, except this one's by the same ctx.
func (m *Manager) Visible(ctx *simulator.Context, ref vc.Ref) bool {
	if !m.restricted.Load() {
		return true
	}
	a := m.caller(ctx)
	if a == nil {
		return ref.Type == "ServiceInstance"
	}
	on, ok := m.entity(ctx, ref)
	return !ok || m.allowed(ctx, a, viewPrivilege, on)
}

// Filter returns the objects that the user of the call may see. It may return refs itself, or write to it.
func (m *Manager) Filter(ctx *simulator.Context, refs []vc.Ref) []vc.Ref {
	if !m.restricted.Load() {
		return refs
	}
	kept := refs[:0]
	for _, ref := range refs {
		if m.Visible(ctx, ref) {
			kept = append(kept, ref)
		}
	}
	return kept
}

// Readable reports whether the user of the call may read the properties of an object: has System.Read on it. Objects above a
// visible object count as readable, because clients traverse names and lists of children, for which vCenter only requires
// System.View. Call it like [Manager.Visible].
func (m *Manager) Readable(ctx *simulator.Context, ref vc.Ref) bool {
	if !m.restricted.Load() {
		return true
	}
	a := m.caller(ctx)
	if a == nil {
		return ref.Type == "ServiceInstance"
	}
	on, ok := m.entity(ctx, ref)
	if !ok {
		return true
	}
	r := m.rules.Load()
	return m.allowed(ctx, a, readPrivilege, on) || m.view(r, a).onTheWay(ctx, on)
}

// Allowed reports whether a user, by any form of the name, has a privilege on an object; the zero reference means the root
// folder. It serves REST, where calls have no context.
func (m *Manager) Allowed(user, privilege string, on vc.Ref) bool {
	if !m.restricted.Load() {
		return true
	}
	a := m.accounts.find(user)
	if a == nil {
		return false
	}
	ctx := vc.Fresh(m.base)
	if on == (vc.Ref{}) {
		on = m.root
	} else {
		on = m.entityOrRoot(ctx, on)
	}
	return m.allowed(ctx, a, privilege, on)
}

// MayRead reports whether a user may read the tags of an object: has System.Read on it. To see it above another object is not
// enough.
//
// Source: com.vmware.cis.tagging.tag_association in the vSphere Automation API: only objects that the user may read are listed.
func (m *Manager) MayRead(user string, ref vc.Ref) bool { return m.Allowed(user, readPrivilege, ref) }

// MayTag reports whether a user may tag an object or, for the root folder, whether the user may create, change and delete tags
// and categories.
func (m *Manager) MayTag(user string, ref vc.Ref) bool {
	if ref == m.root || ref == (vc.Ref{}) {
		return m.Allowed(user, "InventoryService.Tagging.CreateTag", m.root)
	}
	return m.Allowed(user, "InventoryService.Tagging.AttachTag", ref)
}
