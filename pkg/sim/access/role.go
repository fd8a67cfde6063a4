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
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// The system's roles that matter here, by identifier.
const (
	roleAdmin     int32 = -1
	roleView      int32 = -3
	roleAnonymous int32 = -4
	roleNoAccess  int32 = -5
)

// firstRole is the identifier of the first role that is not the system's.
const firstRole int32 = 1001

// The privileges that come with every role of one's own.
const (
	anonymousPrivilege = "System.Anonymous"
	viewPrivilege      = "System.View"
	readPrivilege      = "System.Read"
)

// role is a set of privileges. It is never changed, only replaced.
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

// ownRole makes a role that is not the system's. Every such role has the three privileges of System.
func ownRole(id int32, name string, privileges []string) *role {
	privileges = append([]string{anonymousPrivilege, viewPrivilege, readPrivilege}, privileges...)
	return newRole(id, name, false, &types.Description{Label: name, Summary: name}, privileges)
}

// uses tells whether the role has the privilege.
func (r *role) uses(privilege string) bool {
	_, ok := r.has[privilege]
	return ok
}

// systemRoles are the roles that every vCenter has, as vcsim captured them. All privileges there are, are Admin's.
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

// checkPrivileges returns the first privilege that does not exist.
func (r *rules) unknown(privileges []string) (string, bool) {
	admin := r.roles[roleAdmin]
	for _, p := range privileges {
		if !admin.uses(p) {
			return p, true
		}
	}
	return "", false
}

// roleNamed finds a role by name, as vCenter compares it.
func (r *rules) roleNamed(name string) *role {
	for _, role := range r.roles {
		if strings.EqualFold(role.Name, name) {
			return role
		}
	}
	return nil
}

// roleList is the list that clients see, the system's roles first.
func (r *rules) roleList() []types.AuthorizationRole {
	list := make([]types.AuthorizationRole, 0, len(r.roles))
	for _, role := range r.roles {
		list = append(list, role.AuthorizationRole)
	}
	slices.SortFunc(list, func(a, b types.AuthorizationRole) int { return cmp.Compare(a.RoleId, b.RoleId) })
	return list
}

// addRoles adds the topology's.
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

// authorizationManager is vcsim's, which holds the lists that clients read as properties.
func authorizationManager(r *simulator.Registry) *simulator.AuthorizationManager {
	instance, ok := r.Get(vim25.ServiceInstance).(*simulator.ServiceInstance)
	if !ok || instance.Content.AuthorizationManager == nil {
		return nil
	}
	a, _ := r.Get(*instance.Content.AuthorizationManager).(*simulator.AuthorizationManager)
	return a
}
