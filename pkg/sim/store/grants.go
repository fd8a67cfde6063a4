package store

import (
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator/esx"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// account returns the name of a user or group in the form of a topology: "user@domain".
func account(principalName string) string {
	key, user, domain := principal(principalName)
	if domain == "" {
		return user
	}
	return key
}

// builtin reports whether every vCenter has the user or group.
func builtin(principalName string) bool {
	_, user, _ := principal(principalName)
	return user == "administrator" || user == "administrators"
}

// Spec describes the vCenter without its inventory, as in a topology: name, instance UUID, version, users and roles. Passwords
// are not saved.
func (l *Loaded) Spec() topology.VCenter {
	v := topology.VCenter{Name: l.Name(), InstanceUUID: l.InstanceUUID(), Version: l.Version()}
	for _, u := range l.access.Users {
		if builtin(u.Name) {
			continue
		}
		add := topology.User{Name: account(u.Name)}
		for _, g := range u.Groups {
			add.Groups = append(add.Groups, account(g))
		}
		v.Users = append(v.Users, add)
	}
	known := privileges()
	for _, r := range l.access.Roles {
		if system(r.Name) {
			continue
		}
		def := topology.RoleDef{Name: r.Name}
		for _, p := range r.Privileges {
			if known[p] && !strings.HasPrefix(p, "System.") {
				def.Privileges = append(def.Privileges, p)
			}
		}
		v.Roles = append(v.Roles, def)
	}
	return v
}

// system reports whether every simulated vCenter has the role.
func system(role string) bool {
	for i := range esx.RoleList {
		if esx.RoleList[i].Name == role {
			return true
		}
	}
	return false
}

// privileges returns those that a simulated vCenter knows.
func privileges() map[string]bool {
	all := make(map[string]bool)
	for i := range esx.RoleList {
		if esx.RoleList[i].Name == "Admin" {
			for _, p := range esx.RoleList[i].Privilege {
				all[p] = true
			}
		}
	}
	return all
}

// grants returns the saved permissions, without the initial ones of every vCenter.
func (in *installer) grants() []inventory.Grant {
	var all []inventory.Grant
	for _, p := range in.access.Permissions {
		switch {
		case builtin(p.Principal):
			continue
		case in.objects[p.Entity] == nil:
			in.note("permission of %s is on %s %s, which is not in the folder", p.Principal, p.Entity.Type, p.Entity.Value)
			continue
		case !system(p.Role) && !slices.ContainsFunc(in.access.Roles, func(r role) bool { return r.Name == p.Role }):
			in.note("permission of %s is the role %q, which is not in the folder", p.Principal, p.Role)
			continue
		case p.Group && !in.hasMembers(p.Principal):
			in.note("permission of the group %s is left out: its members are not known", p.Principal)
			continue
		}
		grant := topology.Permission{Role: p.Role, Propagate: topology.No}
		if p.Propagate {
			grant.Propagate = topology.Yes
		}
		if p.Group {
			grant.Group = account(p.Principal)
		} else {
			grant.User = account(p.Principal)
		}
		if n := len(all); n > 0 && all[n-1].On == p.Entity {
			all[n-1].Permissions = append(all[n-1].Permissions, grant)
		} else {
			all = append(all, inventory.Grant{On: p.Entity, Permissions: []topology.Permission{grant}})
		}
	}
	return all
}

func (in *installer) hasMembers(group string) bool {
	return slices.ContainsFunc(in.access.Users, func(u user) bool {
		return !builtin(u.Name) && slices.ContainsFunc(u.Groups, func(g string) bool { return account(g) == account(group) })
	})
}
