package topology

import (
	"maps"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// marking checks the tags, including those of region: and zone:, and the permissions of objects.
type marking struct {
	*problems
	categories map[string]*TagCategory
	names      []string
	region     string
	zone       string
	accounts   *accounts // of the current vCenter
}

func newMarking(p *problems, spec *Spec) *marking {
	m := &marking{
		problems: p, categories: map[string]*TagCategory{},
		region: spec.Categories.Region, zone: spec.Categories.Zone,
	}
	all := spec.AllCategories()
	for i := range all {
		m.categories[all[i].Name] = &all[i]
		m.names = append(m.names, all[i].Name)
	}
	return m
}

// check checks an object of that vSphere type.
func (m *marking) check(marks Marks, place Place, kind string, at *path) {
	checkPlace(m.problems, at, place)
	if place.Region != "" {
		m.associable(m.region, kind, at.key("region"))
	}
	if place.Zone != "" {
		m.associable(m.zone, kind, at.key("zone"))
	}
	m.tags(marks.Tags, place, kind, at)
	m.accounts.check(marks.Permissions, at.key("permissions"))
}

// carried is a tag of the object, with its field.
type carried struct {
	Tag
	by *path
}

func (m *marking) tags(tags []Tag, place Place, kind string, at *path) {
	if len(tags) == 0 {
		return
	}
	// Few enough (maxTags) to compare all pairs.
	var all []carried
	if place.Region != "" {
		all = append(all, carried{Tag{m.region, place.Region}, at.key("region")})
	}
	if place.Zone != "" {
		all = append(all, carried{Tag{m.zone, place.Zone}, at.key("zone")})
	}
	for i, tag := range few(m.problems, tags, maxTags, at.key("tags"), "an object") {
		at := at.key("tags").item(i)
		if m.tag(tag, kind, at) {
			m.beside(tag, all, at)
		}
		all = append(all, carried{tag, at.key("name")})
	}
}

// tag checks a single tag.
func (m *marking) tag(tag Tag, kind string, at *path) bool {
	checkName(m.problems, at.key("name"), tag.Name, freeName)
	at = at.key("category")
	checkName(m.problems, at, tag.Category, anyName)
	if tag.Category == "" {
		return false
	}
	if m.categories[tag.Category] == nil {
		if !m.has((*path)(nil).key("spec").key("tagCategories")) {
			m.field(at, m.Nearest(tag.Category, m.names), "there is no tag category %s: list it in spec.tagCategories", strict.Shown(tag.Category))
		}
		return false
	}
	return m.associable(tag.Category, kind, at)
}

// associable reports a tag on an object of the wrong type.
func (m *marking) associable(category, kind string, at *path) bool {
	c := m.categories[category]
	if c == nil || c.isFor(kind) {
		return true
	}
	m.field(at, "", "tags of category %s are for objects of type %s, not %s", strict.Shown(category), strict.Listed(c.Types), kind)
	return false
}

// beside checks a tag against the object's previous ones.
func (m *marking) beside(tag Tag, others []carried, at *path) {
	for _, other := range others {
		switch {
		case other.Category != tag.Category:
		case other.Name == tag.Name:
			m.field(at.key("name"), "", "%s is on the object already, on line %s", strict.Shown(tag.Name), m.line(at, other.by))
			return
		case m.categories[tag.Category].Cardinality == CardinalitySingle:
			m.field(at.key("name"), "", "category %s lets an object have one of its tags, and %s is on it already, on line %s",
				strict.Shown(tag.Category), strict.Shown(other.Name), m.line(at, other.by))
			return
		}
	}
}

// checkPolicies checks a vCenter's storage policies.
func (m *marking) checkPolicies(policies []Policy, at *path) {
	names := newScope(m.problems, "storage policy")
	for i, policy := range policies {
		at := at.item(i)
		checkName(m.problems, at.key("name"), policy.Name, freeName)
		if slices.Contains(builtInPolicies(), policy.Name) {
			m.field(at.key("name"), "", "%s is there in every vCenter", strict.Shown(policy.Name))
		}
		names.add(policy.Name, at.key("name"))
		if len(policy.Tags)+len(policy.Types) == 0 && !m.has(at.key("tags")) && !m.has(at.key("types")) {
			m.field(at, "", "needs tags: or types:, or it would accept every datastore")
		}
		types := newScope(m.problems, "type")
		for j, kind := range policy.Types {
			types.once(string(kind), at.key("types").item(j))
		}
		var all []carried
		for j, tag := range few(m.problems, policy.Tags, maxTags, at.key("tags"), "a storage policy") {
			at := at.key("tags").item(j)
			if m.tag(tag, typeDatastore, at) {
				m.beside(tag, all, at)
			}
			all = append(all, carried{tag, at.key("name")})
		}
	}
}

// builtInPolicies returns the storage policies of every vCenter.
func builtInPolicies() []string {
	return []string{
		"VM Encryption Policy", "vSAN Default Storage Policy", "VVol No Requirements Policy", "Host-local PMem Default Storage Policy",
	}
}

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
