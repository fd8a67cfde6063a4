package roles

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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
		i := slices.IndexFunc(p.Grants, func(g Grant) bool { return g.makes() && sameAccount(g.User, have.Principal) })
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

// patience is how long it may take to take everything back.
const patience = time.Minute

// Blocked is the error of a plan that something stands in the way of. Nothing was written.
type Blocked struct {
	// By are the lines of [Plan.Differences].
	By []string
}

// Error counts them.
func (b *Blocked) Error() string {
	return fmt.Sprintf("%d of the plan differ from what is there", len(b.By))
}

// Undone is the error of a plan that ended half-way.
type Undone struct {
	// Err is why.
	Err error
	// Reverted is what was taken back, and Left what could not be, one line each.
	Reverted, Left []string
}

// Error says why, and what is left.
func (u *Undone) Error() string {
	switch {
	case len(u.Left) > 0:
		return fmt.Sprintf("%v; %d of what was done is still there", u.Err, len(u.Left))
	case len(u.Reverted) > 0:
		return u.Err.Error() + "; what was done has been taken back"
	}
	return u.Err.Error()
}

// Unwrap returns why.
func (u *Undone) Unwrap() error { return u.Err }

// Target is a plan with a session at its vCenter.
type Target struct {
	*Plan
	VCenter VCenter
}

// Apply creates what is missing in compared plans, roles first, and calls tell after each. If a call fails or ctx ends, Apply
// rolls back what it did, in all vCenters. Errors: [*Blocked], [*Undone].
func Apply(ctx context.Context, targets []Target, report func(string)) error {
	var by []string
	for _, t := range targets {
		by = append(by, t.Differences()...)
	}
	if len(by) > 0 {
		return &Blocked{By: by}
	}
	var u undo
	for _, t := range targets {
		err := t.apply(ctx, t.VCenter, &u, report)
		if err == nil {
			continue
		}
		ended, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		back, left := u.all(ended)
		return &Undone{Err: err, Reverted: back, Left: left}
	}
	return nil
}

func (p *Plan) apply(ctx context.Context, vc VCenter, u *undo, report func(string)) error {
	for i := range p.Roles {
		if r := &p.Roles[i]; r.State == Missing {
			if err := r.create(ctx, vc, u); err != nil {
				return err
			}
			report("created role " + r.Name + p.where())
		}
	}
	for i := range p.Grants {
		if g := &p.Grants[i]; g.makes() {
			if err := g.set(ctx, vc, p.role(g.Role).id, u); err != nil {
				return err
			}
			report(fmt.Sprintf("granted %s to %s on %s%s", g.Role, g.User, g.Object, p.where()))
		}
	}
	return nil
}

func (p *Plan) where() string {
	if p.VCenter == "" {
		return ""
	}
	return fmt.Sprintf(" in vcenter %q", p.VCenter)
}

func (r *Role) create(ctx context.Context, vc VCenter, u *undo) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	u.role(vc, r)
	err := ask(ctx, vc, func(ctx context.Context, m *object.AuthorizationManager) (err error) {
		r.id, err = m.AddRole(ctx, r.Name, r.Privileges)
		return err
	})
	if err != nil {
		u.refused(err)
		return fmt.Errorf("create role %s: %w", r.Name, err)
	}
	r.State = Exists
	return nil
}

func (g *Grant) set(ctx context.Context, vc VCenter, role int32, u *undo) error {
	err := ctx.Err()
	if err == nil {
		err = g.vacant(ctx, vc)
	}
	if err != nil {
		return err
	}
	u.grant(vc, g, role)
	err = ask(ctx, vc, func(ctx context.Context, m *object.AuthorizationManager) error {
		return m.SetEntityPermissions(ctx, g.ref, []types.Permission{{
			Entity: &g.ref, Principal: g.User, RoleId: role, Propagate: g.Propagate,
		}})
	})
	if err != nil {
		u.refused(err)
		return fmt.Errorf("grant %s to %s on %s: %w", g.Role, g.User, g.Object, err)
	}
	g.State = Exists
	return nil
}

// errMeanwhile reports a concurrent change.
var errChanged = errors.New("the account has a permission there that was not there before: see what it is, and ask once more")

// vacant wants the account to have no permission on the object still: one would be replaced.
func (g *Grant) vacant(ctx context.Context, vc VCenter) error {
	on, err := permissions(ctx, vc, g.ref)
	if err != nil {
		return fmt.Errorf("permissions on %s: %w", g.Object, err)
	}
	if slices.ContainsFunc(on, func(p types.Permission) bool { return !p.Group && sameAccount(p.Principal, g.User) }) {
		return fmt.Errorf("grant %s to %s on %s: %w", g.Role, g.User, g.Object, errChanged)
	}
	return nil
}

func permissions(ctx context.Context, vc VCenter, on types.ManagedObjectReference) (all []types.Permission, err error) {
	err = ask(ctx, vc, func(ctx context.Context, m *object.AuthorizationManager) (err error) {
		all, err = m.RetrieveEntityPermissions(ctx, on, false)
		return err
	})
	return all, err
}

// undo is the way back, noted before each step: a call whose answer is lost may have been carried out.
type undo struct{ steps []step }

type step struct {
	what string
	// back takes it back; done is false where there was nothing to.
	back func(context.Context) (done bool, err error)
}

// role notes that a role is about to be created.
func (u *undo) role(vc VCenter, r *Role) {
	u.steps = append(u.steps, step{"role " + r.Name, func(ctx context.Context) (bool, error) {
		known, err := list(ctx, vc)
		if err != nil {
			return false, err
		}
		there := named(known, r.Name)
		// Another client was faster with a different one.
		if there == nil || r.id == 0 && len(without(r.Privileges, there.Privilege))+len(without(without(there.Privilege, r.Privileges), always())) > 0 {
			return false, nil
		}
		return true, ask(ctx, vc, func(ctx context.Context, m *object.AuthorizationManager) error {
			return m.RemoveRole(ctx, there.RoleId, true) // fails if another client has granted it since
		})
	}})
}

// grant notes that a role is about to be granted.
func (u *undo) grant(vc VCenter, g *Grant, role int32) {
	u.steps = append(u.steps, step{fmt.Sprintf("%s of %s on %s", g.Role, g.User, g.Object), func(ctx context.Context) (bool, error) {
		on, err := permissions(ctx, vc, g.ref)
		if err != nil {
			return false, err
		}
		i := slices.IndexFunc(on, func(p types.Permission) bool {
			return !p.Group && sameAccount(p.Principal, g.User) && p.RoleId == role
		})
		if i < 0 {
			return false, nil
		}
		return true, ask(ctx, vc, func(ctx context.Context, m *object.AuthorizationManager) error {
			return m.RemoveEntityPermission(ctx, g.ref, on[i].Principal, false)
		})
	}})
}

// refused forgets the latest step where the vCenter itself said no: nothing came of it.
func (u *undo) refused(err error) {
	var fault interface{ Fault() types.BaseMethodFault }
	if errors.As(err, &fault) {
		u.steps = u.steps[:len(u.steps)-1]
	}
}

// all rolls back everything, the last first, and continues after an error.
func (u *undo) all(ctx context.Context) (back, left []string) {
	for _, s := range slices.Backward(u.steps) {
		switch done, err := s.back(ctx); {
		case err != nil:
			left = append(left, fmt.Sprintf("%s: %v", s.what, err))
		case done:
			back = append(back, s.what)
		}
	}
	return back, left
}
