package vm

import (
	"context"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/machine"
)

func unregister() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "vm.unregister", Object: fault.VM, Touches: touchesPower, Whole: true,
		Short: "powers VMs off and takes them out of the inventory; their files stay",
		Long: "vCenter knows the VM no longer, as if it had been destroyed. Healing registers its configuration file: it comes back with the same " +
			"UUIDs, in the same place, with its tags and attributes, and is powered on if it was; its reference (vm-42) is another one. " +
			"VMs with snapshots are refused.",
	}, fault.Steps[origin]{
		Plan: planGone("unregister"),
		Apply: func(ctx context.Context, c *fault.Call, _ *origin) error {
			return machine.On(ctx, c, func(ctx context.Context, vm *machine.VM) error {
				if err := vm.Power(ctx, machine.PoweredOff); err != nil {
					return err
				}
				return machine.Files(ctx, c, func() error { return vm.Unregister(ctx) })
			})
		},
		Revert: func(ctx context.Context, c *fault.Call, s *origin) error {
			return s.bring(ctx, c, func(ctx context.Context, client *vim25.Client, _ *fault.Endpoint) (ref machine.Ref, err error) {
				err = machine.Files(ctx, c, func() error {
					t, err := object.NewFolder(client, s.Folder).RegisterVM(ctx, s.File, s.Name, false,
						object.NewResourcePool(client, s.Pool), object.NewHostSystem(client, s.Host))
					ref, err = machine.Result(ctx, t, err)
					return err
				})
				return ref, err
			})
		},
	})
}

// planGone plans what takes a VM out of the inventory.
func planGone(does string) func(context.Context, *fault.Call) (origin, string, error) {
	return func(ctx context.Context, c *fault.Call) (before origin, words string, _ error) {
		err := machine.On(ctx, c, func(ctx context.Context, vm *machine.VM) (err error) {
			if err := vm.Reachable(); err != nil {
				return err
			}
			before, err = remember(ctx, c, vm)
			words = does + " (is " + machine.Words(before.Power) + ")"
			return err
		})
		return before, words, err
	}
}

// bring has a VM there again, with all that belongs to it: the one that there is, or one that is made.
func (o *origin) bring(ctx context.Context, c *fault.Call, make func(context.Context, *vim25.Client, *fault.Endpoint) (machine.Ref, error)) error {
	ep, err := machine.Endpoint(c)
	if err != nil {
		return err
	}
	return ep.SOAP(ctx, func(ctx context.Context, client *vim25.Client) error {
		if ep.Sim != nil && c.Seq != 0 {
			defer ep.Sim.Causing(o.Name, c.Seq)() // also of the one to come
		}
		vm, err := o.here(ctx, client)
		if err != nil {
			return err
		}
		if vm == nil {
			ref, err := make(ctx, client, ep)
			if err != nil {
				return err
			}
			if vm, err = machine.Read(ctx, client, ref); err != nil {
				return err
			}
			defer machine.Causing(ep, c, ref)()
		}
		if err := o.mark(ctx, ep, vm); err != nil {
			return err
		}
		return vm.Power(ctx, o.Power)
	})
}
