package roles

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
)

// patience is how long it may take to take everything back.
const patience = time.Minute

// Blocked is the error of a plan that something stands in the way of. Nothing was written.
type Blocked struct {
	// By are the lines of [Plan.Differing].
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
	// Back is what was taken back, and Left what could not be, one line each.
	Back, Left []string
}

// Error says why, and what is left.
func (u *Undone) Error() string {
	switch {
	case len(u.Left) > 0:
		return fmt.Sprintf("%v; %d of what was done is still there", u.Err, len(u.Left))
	case len(u.Back) > 0:
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

// Apply makes what is missing of plans that were compared, roles first; tell is told of each when it is done. When one step
// fails, or ctx ends, what was done until then is taken back, in all vCenters. Errors: [*Blocked], [*Undone].
func Apply(ctx context.Context, targets []Target, tell func(string)) error {
	var by []string
	for _, t := range targets {
		by = append(by, t.Differing()...)
	}
	if len(by) > 0 {
		return &Blocked{By: by}
	}
	var u undo
	for _, t := range targets {
		err := t.apply(ctx, t.VCenter, &u, tell)
		if err == nil {
			continue
		}
		ended, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		back, left := u.all(ended)
		return &Undone{Err: err, Back: back, Left: left}
	}
	return nil
}

func (p *Plan) apply(ctx context.Context, vc VCenter, u *undo, tell func(string)) error {
	for i := range p.Roles {
		if r := &p.Roles[i]; r.State == Missing {
			if err := r.create(ctx, vc, u); err != nil {
				return err
			}
			tell("created role " + r.Name + p.where())
		}
	}
	for i := range p.Grants {
		if g := &p.Grants[i]; g.makes() {
			if err := g.set(ctx, vc, p.role(g.Role).id, u); err != nil {
				return err
			}
			tell(fmt.Sprintf("granted %s to %s on %s%s", g.Role, g.User, g.Object, p.where()))
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

// errMeanwhile says that somebody else is at work.
var errMeanwhile = errors.New("the account has a permission there that was not there before: see what it is, and ask once more")

// vacant wants the account to have no permission on the object still: one would be replaced.
func (g *Grant) vacant(ctx context.Context, vc VCenter) error {
	on, err := permissions(ctx, vc, g.ref)
	if err != nil {
		return fmt.Errorf("permissions on %s: %w", g.Object, err)
	}
	if slices.ContainsFunc(on, func(p types.Permission) bool { return !p.Group && sameAccount(p.Principal, g.User) }) {
		return fmt.Errorf("grant %s to %s on %s: %w", g.Role, g.User, g.Object, errMeanwhile)
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
