package roles

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
)

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
		// One that differs is somebody else's, who was faster.
		if there == nil || r.id == 0 && len(without(r.Privileges, there.Privilege))+len(without(without(there.Privilege, r.Privileges), always())) > 0 {
			return false, nil
		}
		return true, ask(ctx, vc, func(ctx context.Context, m *object.AuthorizationManager) error {
			return m.RemoveRole(ctx, there.RoleId, true) // not where somebody has granted it meanwhile
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

// all takes everything back, the last first, and goes on after an error.
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
