package topology

import (
	"maps"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// accounts are the users, groups and roles of a vCenter for permissions. Names are case-insensitive, as in vCenter.
type accounts struct {
	*problems
	users, groups, roles *scope
	where                string // for messages
}

// checkAccounts checks a vCenter's users and roles.
func checkAccounts(p *problems, vcenter *VCenter, at *path) *accounts {
	a := &accounts{
		problems: p, where: "vCenter " + strict.Shown(vcenter.Name),
		users: newScope(p, "user"), groups: newScope(p, "group"), roles: newScope(p, "role"),
	}
	a.checkUsers(vcenter, at.key("users"))
	a.checkRoles(vcenter.Roles, at.key("roles"))
	return a
}

func (a *accounts) checkUsers(vcenter *VCenter, at *path) {
	administrator := vcenter.Administrator()
	folded := newScope(a.problems, "user")
	for i, user := range vcenter.Users {
		at := at.item(i)
		checkName(a.problems, at.key("name"), user.Name, accountName)
		if strings.EqualFold(user.Name, administrator) {
			a.field(at.key("name"), "", "%s is there in every vCenter", strict.Shown(administrator))
		}
		folded.add(strings.ToLower(user.Name), at.key("name"))
		a.users.enter(strings.ToLower(user.Name), at.key("name"))
		a.checkGroups(user.Groups, at.key("groups"))
	}
	a.users.enter(administrator, nil)
	for _, domain := range []string{vcenter.Name + ".local", "vsphere.local"} {
		a.groups.enter("administrators@"+domain, nil)
	}
	a.users.forgive(at)
	a.groups.forgive(at)
}

func (a *accounts) checkGroups(groups []string, at *path) {
	twice := newScope(a.problems, "group")
	for i, group := range groups {
		at := at.item(i)
		checkName(a.problems, at, group, accountName)
		twice.add(strings.ToLower(group), at)
		a.groups.enter(strings.ToLower(group), at)
	}
}

func (a *accounts) checkRoles(roles []RoleDef, at *path) {
	for _, role := range builtInRoles() {
		a.roles.enter(strings.ToLower(role), nil)
	}
	privileges := map[string]bool{}
	if len(roles) > 0 {
		privileges = knownPrivileges()
	}
	for i, role := range roles {
		at := at.item(i)
		checkName(a.problems, at.key("name"), role.Name, freeName)
		name := strings.ToLower(role.Name)
		if first, is := a.roles.seen[name]; is && first == nil {
			a.field(at.key("name"), "", "%s is there in every vCenter", strict.Shown(role.Name))
		} else {
			a.roles.add(name, at.key("name"))
		}
		twice := newScope(a.problems, "privilege")
		for j, name := range role.Privileges {
			at := at.key("privileges").item(j)
			checkName(a.problems, at, name, anyName)
			if name != "" && !privileges[name] {
				a.field(at, a.Nearest(name, slices.Sorted(maps.Keys(privileges))), "vSphere knows no privilege %s", strict.Shown(name))
			}
			twice.add(name, at)
		}
	}
	a.roles.forgive(at)
}

// known reports an unknown name.
func (a *accounts) known(s *scope, name string, at *path) {
	if _, ok := s.seen[strings.ToLower(name)]; !ok {
		s.refer(name, at, a.where)
	}
}

// builtInRoles returns the roles of every vCenter.
func builtInRoles() []string {
	return []string{"Admin", "ReadOnly", "View", "NoAccess", "Anonymous", "NoCryptoAdmin", "TrustedAdmin", "NoTrustedAdmin"}
}

// check checks the permissions at a path.
func (a *accounts) check(permissions []Permission, at *path) {
	if len(permissions) == 0 {
		return
	}
	users, groups := newScope(a.problems, "permission of"), newScope(a.problems, "permission of")
	for i, permission := range few(a.problems, permissions, maxPermissions, at, "an object") {
		at := at.item(i)
		switch user, group := permission.User != "", permission.Group != ""; {
		case user && group:
			a.field(at.key("group"), "", "is given beside user: a permission is for one of them")
		case user:
			a.known(a.users, permission.User, at.key("user"))
			users.add(strings.ToLower(permission.User), at.key("user"))
		case group:
			a.known(a.groups, permission.Group, at.key("group"))
			groups.add(strings.ToLower(permission.Group), at.key("group"))
		default:
			a.field(at, "", "needs user: or group:")
		}
		checkName(a.problems, at.key("role"), permission.Role, anyName)
		if permission.Role != "" {
			a.known(a.roles, permission.Role, at.key("role"))
		}
	}
}
