package store

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

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
