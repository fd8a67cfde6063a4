package api

import (
	"context"
	"errors"
	"fmt"
	"strings"

	vimfault "github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// permissions is the state of an account that may no longer see datacenters.
type permissions struct {
	Account string       `json:"account"`
	On      []permission `json:"on"`
}

// permission is that of the account on a datacenter before; nil when it had none of its own there.
type permission struct {
	Datacenter types.ManagedObjectReference `json:"datacenter"`
	Before     *types.Permission            `json:"before,omitempty"`
}

// permissionMissing is a datacenter that an account may not read.
func permissionMissing() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "vcenter.permission-missing",
		Short: "takes an account's permission to see a datacenter away",
		Long: `The account gets the role NoAccess on the datacenter. To it, the datacenter and
all that is in it is not there: searches find nothing and do not say why, watches
see VMs disappear, and what is asked for by its reference is answered with
NoPermission. Others see what they saw.

A client that takes "not found" for "gone" deletes nodes whose VMs are well.`,
		Object: fault.VCenter,
		Needs:  []fault.Need{fault.Simulator},
		Params: []fault.Param{
			{Name: "account", Short: "whose permission; that of the cloud controller manager, when empty", Type: fault.Text},
			{Name: "datacenter", Short: "the datacenter, by name or path; all of them, when empty", Type: fault.Text},
		},
		Touches:  "permissions",
		Reported: []string{"cloud-provider-vsphere#665", "vsphere-csi-driver#2475", "cloud-provider-vsphere#623"},
	}, fault.Steps[permissions]{
		Plan: func(ctx context.Context, c *fault.Call) (s permissions, does string, err error) {
			v, err := vcenter(c)
			if err != nil {
				return s, "", err
			}
			if s.Account, err = account(ctx, c, v); err != nil {
				return s, "", err
			}
			var names []string
			err = authorized(ctx, c, func(ctx context.Context, vc *vim25.Client, m *object.AuthorizationManager) error {
				dcs, err := datacenters(ctx, c, vc)
				if err != nil {
					return err
				}
				s.On = nil // a second try, with another session
				names = nil
				for _, dc := range dcs {
					before, err := has(ctx, m, dc.Reference(), s.Account)
					if err != nil {
						return err
					}
					if before != nil && before.RoleId == noAccessID {
						return fault.Refuse("%s may not see datacenter %s as it is", s.Account, dc.Name())
					}
					s.On = append(s.On, permission{Datacenter: dc.Reference(), Before: before})
					names = append(names, dc.Name())
				}
				return nil
			})
			return s, fmt.Sprintf("hides datacenter %s from %s", strings.Join(names, ", "), s.Account), err
		},
		Apply: func(ctx context.Context, c *fault.Call, s *permissions) error {
			return authorized(ctx, c, func(ctx context.Context, _ *vim25.Client, m *object.AuthorizationManager) error {
				for _, p := range s.On {
					none := []types.Permission{{Principal: s.Account, RoleId: noAccessID, Propagate: true}}
					if err := m.SetEntityPermissions(ctx, p.Datacenter, none); err != nil {
						return err
					}
				}
				return nil
			})
		},
		Revert: func(ctx context.Context, c *fault.Call, s *permissions) error {
			return authorized(ctx, c, func(ctx context.Context, _ *vim25.Client, m *object.AuthorizationManager) error {
				var all []error
				for _, p := range s.On {
					all = append(all, restore(ctx, m, s.Account, p))
				}
				return errors.Join(all...)
			})
		},
	})
}

// noAccessID is that of the role, the same for every vCenter.
const noAccessID int32 = -5

// authorized calls f with the manager of permissions.
func authorized(ctx context.Context, c *fault.Call, f func(context.Context, *vim25.Client, *object.AuthorizationManager) error) error {
	ep := c.Ground.VCenter(c.Target.Name)
	return ep.SOAP(ctx, func(ctx context.Context, vc *vim25.Client) error {
		return f(ctx, vc, object.NewAuthorizationManager(vc))
	})
}

// datacenters are those that the parameter picks.
func datacenters(ctx context.Context, c *fault.Call, vc *vim25.Client) ([]*object.Datacenter, error) {
	name := c.Params.Text("datacenter")
	pattern := name
	if name == "" {
		pattern = "/..."
	}
	dcs, err := find.NewFinder(vc).DatacenterList(ctx, pattern)
	if missing := new(find.NotFoundError); errors.As(err, &missing) {
		return nil, &fault.Refusal{Code: "not-found", Message: fmt.Sprintf("vCenter %s has no datacenter %q", c.Target.Name, name)}
	}
	return dcs, err
}

// has returns the permission that an account itself has on an entity; nil when it has none.
func has(ctx context.Context, m *object.AuthorizationManager, on types.ManagedObjectReference, account string) (*types.Permission, error) {
	list, err := m.RetrieveEntityPermissions(ctx, on, false)
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		if !p.Group && same(p.Principal, account) {
			return &p, nil
		}
	}
	return nil, nil
}

// same tells whether DOMAIN\user, as vCenter has it, and user@domain name one account.
func same(principal, account string) bool {
	user, domain, _ := strings.Cut(account, "@")
	return strings.EqualFold(principal, account) || strings.EqualFold(principal, domain+`\`+user)
}

// restore puts the permission on one datacenter back. One that is gone needs none.
func restore(ctx context.Context, m *object.AuthorizationManager, account string, p permission) error {
	now, err := has(ctx, m, p.Datacenter, account)
	switch {
	case vimfault.Is(err, &types.ManagedObjectNotFound{}):
		return nil
	case err != nil:
		return err
	case now == nil || now.RoleId != noAccessID:
		return nil // healed before, or somebody has changed it since
	case p.Before == nil:
		return m.RemoveEntityPermission(ctx, p.Datacenter, account, false)
	}
	return m.SetEntityPermissions(ctx, p.Datacenter, []types.Permission{*p.Before})
}
