package vm

import (
	"context"

	"github.com/vmware/govmomi/vim25"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/machine"
)

// replaced is the original, and what stands in its place: its UUIDs, and its reference once it was made.
type replaced struct {
	Origin          origin      `json:"origin"`
	NewUUID         string      `json:"newUUID"`
	NewInstanceUUID string      `json:"newInstanceUUID"`
	New             machine.Ref `json:"new,omitzero"`
}

func recreate() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "vm.recreate", Object: fault.VM, Needs: []fault.Need{fault.Simulator}, Touches: touchesPower, Whole: true,
		Short: "destroys VMs and makes new ones of the same name, with other UUIDs",
		Long: "What an installer does with a broken node: the new VM has the name, place, size, networks, tags and guest of the old one, but it is another " +
			"machine. A cloud provider that remembers the old UUID has the new node deleted. The same happens on the way back: " +
			"healing destroys the new VM and makes the original again, but for its reference (vm-42). VMs with snapshots are refused.",
		Reported: []string{"cloud-provider-vsphere#397", "cloud-provider-vsphere#501"},
	}, fault.Steps[replaced]{
		Plan: func(ctx context.Context, c *fault.Call) (s replaced, does string, err error) {
			s.Origin, does, err = planGone("destroy and make again with another UUID")(ctx, c)
			s.NewUUID, s.NewInstanceUUID = machine.UUID(c.Rand), machine.UUID(c.Rand)
			return s, does, err
		},
		Apply: func(ctx context.Context, c *fault.Call, s *replaced) error {
			if err := away(ctx, c, c.Target.Ref, true); err != nil {
				return err
			}
			return s.Origin.bring(ctx, c, func(ctx context.Context, client *vim25.Client, ep *fault.Endpoint) (_ machine.Ref, err error) {
				s.New, err = s.Origin.make(ctx, c, client, ep, s.NewUUID, s.NewInstanceUUID)
				return s.New, err
			})
		},
		Revert: func(ctx context.Context, c *fault.Call, s *replaced) error {
			if err := s.find(ctx, c); err != nil {
				return err
			}
			if s.New != (machine.Ref{}) { // by its reference: it may be called and known otherwise by now
				if err := away(ctx, c, s.New, false); err != nil && !machine.Gone(err) {
					return err
				}
			}
			return s.Origin.again(ctx, c)
		},
	})
}

// find looks for a new VM that was made without our being told, as when an answer was lost.
func (s *replaced) find(ctx context.Context, c *fault.Call) error {
	if s.New != (machine.Ref{}) {
		return nil
	}
	ep, err := machine.Endpoint(c)
	if err != nil {
		return err
	}
	return ep.SOAP(ctx, func(ctx context.Context, client *vim25.Client) error {
		vm, err := s.Origin.here(ctx, client)
		if err == nil && vm != nil && vm.Config.Uuid == s.NewUUID {
			s.New = vm.Reference()
		}
		return err
	})
}
