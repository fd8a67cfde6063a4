package store

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator/esx"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

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

// access reads roles, permissions, and the names of users.
func (s *saver) access() (*access, error) {
	out := new(access)
	if s.client.ServiceContent.AuthorizationManager == nil {
		return out, nil
	}
	m := object.NewAuthorizationManager(s.client)
	roles, err := m.RoleList(s.ctx)
	if err != nil {
		return nil, fmt.Errorf("roles: %w", err)
	}
	names := make(map[int32]string)
	for _, r := range roles {
		names[r.RoleId] = r.Name
		out.Roles = append(out.Roles, role{Name: r.Name, System: r.System, Privileges: slices.Sorted(slices.Values(r.Privilege))})
	}
	slices.SortFunc(out.Roles, func(a, b role) int { return cmp.Compare(a.Name, b.Name) })

	given, err := m.RetrieveAllPermissions(s.ctx)
	if unanswered(err) { // the user may not ask
		given, err = nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("permissions: %w", err)
	}
	for _, p := range given {
		if p.Entity != nil {
			out.Permissions = append(out.Permissions, permission{
				Entity: *p.Entity, Principal: p.Principal, Group: p.Group, Role: names[p.RoleId], Propagate: p.Propagate,
			})
		}
	}
	slices.SortFunc(out.Permissions, func(a, b permission) int {
		return cmp.Or(compareRefs(a.Entity, b.Entity), cmp.Compare(a.Principal, b.Principal))
	})
	s.users(out)
	return out, nil
}

// users adds the accounts with permissions, and the members of groups.
func (s *saver) users(out *access) {
	found := make(map[string]user)
	for _, p := range out.Permissions {
		if !p.Group {
			found[p.Principal] = user{Name: p.Principal}
			continue
		}
		for _, name := range s.members(p.Principal) {
			u := found[name]
			u.Name = name
			if !slices.Contains(u.Groups, p.Principal) {
				u.Groups = append(u.Groups, p.Principal)
			}
			found[name] = u
		}
	}
	for _, u := range found {
		slices.Sort(u.Groups)
		out.Users = append(out.Users, u)
	}
	slices.SortFunc(out.Users, func(a, b user) int { return cmp.Compare(a.Name, b.Name) })
	s.summary.Permissions = len(out.Permissions)
}

// members returns the users of a group, empty if the vCenter does not list them.
func (s *saver) members(group string) []string {
	directory := s.client.ServiceContent.UserDirectory
	if directory == nil {
		return nil
	}
	domain, name, ok := strings.Cut(group, `\`)
	if !ok {
		domain, name = "", group
	}
	r, err := methods.RetrieveUserGroups(s.ctx, s.client, &types.RetrieveUserGroups{
		This: *directory, Domain: domain, FindUsers: true, BelongsToGroup: name,
	})
	if err != nil {
		return nil // only some directories list members, and only to some users
	}
	var names []string
	for _, found := range r.Returnval {
		u := found.GetUserSearchResult()
		if u.Group {
			continue
		}
		if domain != "" && !strings.ContainsAny(u.Principal, `\@`) {
			u.Principal = domain + `\` + u.Principal
		}
		names = append(names, u.Principal)
	}
	return names
}

func (s *saver) writeAccess(a *access) error {
	if s.scrubber != nil {
		*a = scrub(s.scrubber, *a)
	}
	return s.writer.json(accessName, a)
}
