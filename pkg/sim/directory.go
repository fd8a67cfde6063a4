package sim

import (
	"net/http"
	"net/url"
	"strings"

	eam "github.com/vmware/govmomi/eam/simulator"
	lookup "github.com/vmware/govmomi/lookup/simulator"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/ssoadmin"
	ssosim "github.com/vmware/govmomi/ssoadmin/simulator"
	ssotypes "github.com/vmware/govmomi/ssoadmin/types"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vsan"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/apis"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/corrections"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/sts"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// directory registers the lookup service, the administration of users, vSAN and agents of hosts, with the sessions of the vCenter.
// It returns their registries.
func (s *service) directory(spec *topology.VCenter) []*simulator.Registry {
	services := lookup.New()
	services.Handler = corrections.Noted(s.access.Hook)
	s.access.Cookies(services)
	s.vcsim.RegisterSDK(services)

	// vcsim's would decide about logins.
	sessions := s.ctx.Map.SessionManager()
	valid := sessions.ValidLogin
	users := ssosim.New(s.ctx.Map, &url.URL{User: url.User("-")})
	sessions.ValidLogin = valid
	s.listUsers(users)
	agents := eam.New()
	s.clusters = apis.Vsan(s.ctx, func(cluster types.ManagedObjectReference) (vsan, files bool) { return s.vsan(spec, cluster) })
	s.vcsim.RegisterSDK(s.clusters.Registry) // adds the objects to those of CNS
	for _, one := range []struct {
		*simulator.Registry
		privilege string
		alias     []string
	}{
		{users, "Authorization.ModifyPermissions", []string{ssoadmin.SystemPath}},
		{agents, "EAM.Modify", nil},
	} {
		one.Handler = corrections.Noted(s.guarded(one.privilege))
		s.access.Cookies(one.Registry)
		s.vcsim.RegisterSDK(one.Registry, one.alias...)
	}
	return []*simulator.Registry{services, users, agents, s.clusters.Registry}
}

// vsan reports whether the topology enables vSAN and its file service in a cluster.
func (s *service) vsan(spec *topology.VCenter, cluster types.ManagedObjectReference) (enabled, files bool) {
	ctx := vc.Fresh(s.ctx)
	obj, ok := ctx.Map.Get(cluster).(*simulator.ClusterComputeResource)
	if !ok {
		return false, false
	}
	in := vc.DatacenterArgument(ctx, cluster)
	for _, dc := range spec.Datacenters {
		for _, c := range dc.Clusters {
			if c.Name == obj.Name && in != nil && dc.Name == in.Name {
				return c.VSAN.FileService, c.VSAN.FileService
			}
		}
	}
	return false, false
}

// fileService reports whether the file service of a datastore's cluster is enabled.
func (s *service) fileService(datastore types.ManagedObjectReference) bool {
	ctx := vc.Fresh(s.ctx)
	ds, ok := ctx.Map.Get(datastore).(*simulator.Datastore)
	if !ok {
		return false
	}
	var hosts []types.DatastoreHostMount
	ctx.WithLock(ds, func() { hosts = ds.Host })
	for _, h := range hosts {
		if host, ok := ctx.Map.Get(h.Key).(*simulator.HostSystem); ok && host.Parent != nil && s.clusters.FileService(*host.Parent) {
			return true
		}
	}
	return false
}

// guarded returns a hook that requires a privilege on the root folder for every call that is not known to read.
func (s *service) guarded(privilege string) func(*simulator.Context, *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	return func(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
		if receiver, fault := s.access.Hook(ctx, method); receiver != nil || fault != nil {
			return receiver, fault
		}
		if method.Name == "Login" { // of the administration of users: a token
			var header struct{ Assertion sts.Assertion }
			if security, ok := ctx.Header.Security.(*simulator.Element); ok {
				_ = security.Decode(&header) // without an assertion no token is valid
			}
			if _, ok := s.tokens.User(header.Assertion.ID); !ok {
				return nil, new(types.InvalidLogin)
			}
			return nil, nil
		}
		if ctx.Session == nil || reads(method.Name) || s.access.Allowed(ctx.Session.UserName, privilege, vc.Ref{}) {
			return nil, nil
		}
		return nil, &types.NoPermission{Object: new(s.ctx.Map.SearchIndex().Self), PrivilegeId: privilege}
	}
}

// withVsan returns the hook of the registry of CNS and vSAN.
func (s *service) withVsan() func(*simulator.Context, *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	guarded := s.guarded("Host.Inventory.EditCluster")
	return func(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
		if method.This == vsan.VsanVcClusterConfigSystemInstance || method.This == vsan.VsanVcStretchedClusterSystem {
			return guarded(ctx, method)
		}
		return s.access.Hook(ctx, method)
	}
}

// reads reports whether a method of the smaller APIs changes nothing, by its name.
func reads(method string) bool {
	for _, prefix := range []string{"Find", "Get", "Query", "Retrieve", "List", "SsoAdminServiceInstance", "SsoGroupcheckServiceInstance", "VsanClusterGetConfig", "Logout", "Is", "Has", "ScanForUnknownAgentVm"} {
		if strings.HasPrefix(method, prefix) {
			return true
		}
	}
	return false
}

// listUsers lists the vCenter's users and groups in its administration of users, without passwords.
func (s *service) listUsers(r *simulator.Registry) {
	for _, obj := range r.AllReference("") {
		m, ok := obj.(*ssosim.PrincipalManagementService)
		if !ok {
			continue
		}
		ctx := vc.Fresh(s.ctx)
		m.DeleteLocalPrincipal(ctx, &ssotypes.DeleteLocalPrincipal{PrincipalName: "-"})
		groups := map[string]bool{}
		for _, u := range s.access.Users() {
			name, _, _ := strings.Cut(u.Name, "@")
			m.CreateLocalPersonUser(ctx, &ssotypes.CreateLocalPersonUser{UserName: name})
			for _, g := range u.Groups {
				group, _, _ := strings.Cut(g, "@")
				if !groups[group] {
					m.CreateLocalGroup(ctx, &ssotypes.CreateLocalGroup{GroupName: group})
					groups[group] = true
				}
				m.AddUsersToLocalGroup(ctx, &ssotypes.AddUsersToLocalGroup{
					UserIds: []ssotypes.PrincipalId{{Name: name, Domain: "vsphere.local"}}, GroupName: group,
				})
			}
		}
	}
}

// mayCall reports whether a user may make a REST call to one of the smaller APIs.
func (s *service) mayCall(user, method, path string) bool {
	need, ok := apis.NeedOf(method, path)
	if !ok {
		return true
	}
	on := vc.Ref{}
	if need.VM != "" {
		on = vc.Ref{Type: "VirtualMachine", Value: need.VM}
	}
	return s.access.Allowed(user, need.Privilege, on)
}

// private serves a page to clients with a session or a password.
func (s *service) private(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := s.access.Authenticated(r); !ok {
			w.Header().Set("WWW-Authenticate", `Basic realm="vCenter"`)
			http.Error(w, http.StatusText(http.StatusUnauthorized), http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
