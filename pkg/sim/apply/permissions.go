package apply

import (
	"context"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// ruleState is the current state of roles and permissions.
type ruleState struct {
	roles  map[string]*types.AuthorizationRole
	grants map[ref][]types.Permission
}

func readRules(ctx context.Context, c *vim25.Client, _ *state) (*ruleState, error) {
	m := object.NewAuthorizationManager(c)
	roles, err := m.RoleList(ctx)
	if err != nil {
		return nil, err
	}
	s := &ruleState{roles: map[string]*types.AuthorizationRole{}, grants: map[ref][]types.Permission{}}
	for i := range roles {
		s.roles[roles[i].Name] = &roles[i]
	}
	all, err := m.RetrieveAllPermissions(ctx)
	if err != nil {
		return nil, err
	}
	for _, g := range all {
		if g.Entity != nil {
			s.grants[*g.Entity] = append(s.grants[*g.Entity], g)
		}
	}
	return s, nil
}

// system returns the privileges of every role.
func system() []string { return []string{"System.Anonymous", "System.Read", "System.View"} }

// roles plans missing and changed roles.
func (p *planner) roles() {
	for _, want := range p.want.Roles {
		live := p.rules.roles[want.Name]
		if live == nil {
			made := &types.AuthorizationRole{Name: want.Name}
			p.rules.roles[want.Name] = made
			p.step(Create, KindRole, want.Name, "", func(ctx context.Context, c *vim25.Client) (err error) {
				made.RoleId, err = object.NewAuthorizationManager(c).AddRole(ctx, want.Name, want.Privileges)
				return err
			})
			continue
		}
		add, drop := less(less(want.Privileges, live.Privilege), system()), less(less(live.Privilege, want.Privileges), system())
		if len(add)+len(drop) == 0 {
			continue
		}
		var what []string
		for _, privilege := range drop {
			what = append(what, "-"+privilege)
		}
		for _, privilege := range add {
			what = append(what, "+"+privilege)
		}
		p.step(Change, KindRole, want.Name, strings.Join(what, " "), func(ctx context.Context, c *vim25.Client) error {
			return object.NewAuthorizationManager(c).UpdateRole(ctx, live.RoleId, want.Name, want.Privileges)
		})
	}
}

// principal is a user or group in one form: vCenter writes "DOMAIN\user" for "user@domain".
type principal struct {
	name  string
	group bool
}

func principalOf(name string, group bool) principal {
	name = strings.ToLower(name)
	if domain, user, ok := strings.Cut(name, `\`); ok {
		name = user + "@" + domain
	}
	return principal{name, group}
}

func grantee(g topology.Permission) principal {
	if g.Group != "" {
		return principalOf(g.Group, true)
	}
	return principalOf(g.User, false)
}

// hadPermissions returns the permissions in the previous topology on the object with that key.
func (p *planner) hadPermissions(key string) []topology.Permission {
	if n := p.before[key]; n != nil {
		return n.marks.Permissions
	}
	return nil
}

// grant plans the permissions on an object.
func (p *planner) grant(kind Kind, path string, holder func() (ref, error), live ref, want, had []topology.Permission) {
	now := map[principal]types.Permission{}
	for _, g := range p.rules.grants[live] {
		now[principalOf(g.Principal, g.Group)] = g
	}
	var what []string
	var set []topology.Permission
	wanted := map[principal]bool{}
	for _, g := range want {
		who := grantee(g)
		wanted[who] = true
		is, there := now[who]
		role := p.rules.roles[g.Role]
		if there && role != nil && role.RoleId == is.RoleId && is.Propagate == (g.Propagate != topology.No) {
			continue
		}
		set = append(set, g)
		what = append(what, "+"+who.name+":"+g.Role)
	}
	var drop []types.Permission
	for _, g := range had {
		if is, there := now[grantee(g)]; there && !wanted[grantee(g)] {
			drop = append(drop, is)
			what = append(what, "-"+grantee(g).name)
		}
	}
	if len(what) == 0 {
		return
	}
	p.step(Change, kind, path, "permissions "+strings.Join(what, " "), func(ctx context.Context, c *vim25.Client) error {
		on, err := holder()
		if err != nil {
			return err
		}
		m := object.NewAuthorizationManager(c)
		for _, g := range drop {
			if err := m.RemoveEntityPermission(ctx, on, g.Principal, g.Group); err != nil {
				return err
			}
		}
		var list []types.Permission
		for _, g := range set {
			list = append(list, types.Permission{
				Principal: g.User + g.Group, Group: g.Group != "", RoleId: p.rules.roles[g.Role].RoleId, Propagate: g.Propagate != topology.No,
			})
		}
		if len(list) == 0 {
			return nil
		}
		return m.SetEntityPermissions(ctx, on, list)
	})
}

// removeRoles plans the removal of roles that the topology had.
func (p *planner) removeRoles() {
	if p.had == nil {
		return
	}
	for _, role := range p.had.Roles {
		live := p.rules.roles[role.Name]
		if live == nil || slices.ContainsFunc(p.want.Roles, func(r topology.RoleDef) bool { return r.Name == role.Name }) {
			continue
		}
		p.step(Remove, KindRole, role.Name, "", func(ctx context.Context, c *vim25.Client) error {
			return object.NewAuthorizationManager(c).RemoveRole(ctx, live.RoleId, false)
		})
	}
}
