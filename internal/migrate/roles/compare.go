package roles

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/privilege"
)

// VCenter is a session at one. Do runs one exchange; its error names the vCenter.
type VCenter interface {
	Do(ctx context.Context, f func(context.Context, *vim25.Client) error) error
}

// errNoManager is of what is no vCenter, such as a host.
var errNoManager = errors.New("it has no authorization manager: it is no vCenter")

// ask runs f with the vCenter's authorization manager.
func ask(ctx context.Context, vc VCenter, f func(context.Context, *object.AuthorizationManager) error) error {
	return vc.Do(ctx, func(ctx context.Context, vim *vim25.Client) error {
		if vim.ServiceContent.AuthorizationManager == nil {
			return errNoManager
		}
		return f(ctx, object.NewAuthorizationManager(vim))
	})
}

// Compare asks the vCenter what of the plan is there, and sets the states. It only reads.
func (p *Plan) Compare(ctx context.Context, vc VCenter) error {
	known, err := list(ctx, vc)
	if err != nil {
		return err
	}
	for i := range p.Roles {
		p.Roles[i].compare(known)
	}
	if !slices.ContainsFunc(p.Grants, func(g Grant) bool { return g.User != "" }) {
		return nil
	}
	var all []types.Permission
	err = ask(ctx, vc, func(ctx context.Context, m *object.AuthorizationManager) (err error) {
		all, err = m.RetrieveAllPermissions(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("list permissions: %w", err)
	}
	for i := range p.Grants {
		if g := &p.Grants[i]; g.User != "" && g.ref.Value != "" {
			g.compare(known, all, p.role(g.Role))
		}
	}
	p.overridden(known, all)
	return nil
}

func list(ctx context.Context, vc VCenter) (known object.AuthorizationRoleList, err error) {
	err = ask(ctx, vc, func(ctx context.Context, m *object.AuthorizationManager) (err error) {
		known, err = m.RoleList(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list roles: %w", err)
	}
	return known, nil
}

// named finds a role: vCenter takes names that differ in case alone for one.
func named(known object.AuthorizationRoleList, name string) *types.AuthorizationRole {
	for i := range known {
		if strings.EqualFold(known[i].Name, name) {
			return &known[i]
		}
	}
	return nil
}

// compare says what the vCenter has of a role.
func (r *Role) compare(known object.AuthorizationRoleList) {
	there := named(known, r.Name)
	if there == nil {
		r.State, r.Why = Missing, ""
		return
	}
	r.id, r.State, r.Why = there.RoleId, Exists, ""
	if r.System {
		return
	}
	lacks, more := without(r.Privileges, there.Privilege), without(without(there.Privilege, r.Privileges), always())
	var why []string
	if len(lacks) > 0 {
		why = append(why, "lacks "+strings.Join(lacks, ", "))
	}
	if len(more) > 0 {
		why = append(why, "has "+strings.Join(more, ", ")+" besides")
	}
	if len(why) > 0 {
		r.State, r.Why = Differs, strings.Join(why, "; ")
	}
}

// compare says what the vCenter has of a grant.
func (g *Grant) compare(known object.AuthorizationRoleList, all []types.Permission, role *Role) {
	g.State, g.Why = Missing, ""
	for _, p := range all {
		if p.Group || p.Entity == nil || *p.Entity != g.ref || !sameAccount(p.Principal, g.User) {
			continue
		}
		has := known.ById(p.RoleId)
		switch {
		case has == nil:
			g.State, g.Why = Differs, fmt.Sprintf("has role %d there", p.RoleId)
		case g.Propagate && !p.Propagate:
			g.State, g.Why = Differs, fmt.Sprintf("has %s there, which does not propagate", has.Name)
		case p.RoleId == role.id && role.State != Missing:
			g.State = Exists
			if p.Propagate != g.Propagate {
				g.State, g.Why = Covered, "propagates, which is more than needed"
			}
		case len(without(role.Privileges, has.Privilege)) == 0:
			g.State, g.Why = Covered, "has "+has.Name+" there"
		default:
			g.State, g.Why = Differs, fmt.Sprintf("has %s there, which lacks %s", has.Name, strings.Join(without(role.Privileges, has.Privilege), ", "))
		}
		return
	}
}

// overridden notes permissions of the accounts that do not count any more where one is granted below: of two on the way
// down, vCenter takes the nearest alone.
func (p *Plan) overridden(known object.AuthorizationRoleList, all []types.Permission) {
	p.Notes = nil
	for _, have := range all {
		if have.Group || !have.Propagate || have.Entity == nil {
			continue
		}
		i := slices.IndexFunc(p.Grants, func(g Grant) bool { return g.wanted() && sameAccount(g.User, have.Principal) })
		if i < 0 || slices.ContainsFunc(p.Grants, func(g Grant) bool { return g.ref == *have.Entity && sameAccount(g.User, have.Principal) }) {
			continue
		}
		name := fmt.Sprintf("role %d", have.RoleId)
		if r := known.ById(have.RoleId); r != nil {
			name = r.Name
		}
		p.Notes = append(p.Notes, fmt.Sprintf("%s has %s on %s, which propagates: where a role is granted below it, that role counts instead",
			p.Grants[i].User, name, have.Entity))
	}
}

// without is what of a is not in b.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// always are the privileges of every role.
func always() []string { return privilege.ReadOnly().IDs() }
