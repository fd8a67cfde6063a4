package vm

import (
	"context"

	"github.com/vmware/govmomi/object"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/machine"
)

// marked is what a template has not.
type marked struct {
	Power machine.PowerState `json:"power"`
	Pool  machine.Ref        `json:"pool"`
	Host  machine.Ref        `json:"host"`
}

func template() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "vm.template", Object: fault.VM, Touches: touchesPower,
		Short: "makes VMs templates",
		Long: "The VM is powered off and marked as a template, by a wrong click. It keeps name and UUIDs, but is in no resource pool, and nothing can power it on. " +
			"Healing makes it a VM again and powers it on, if it was.",
	}, fault.Steps[marked]{
		Plan: func(ctx context.Context, c *fault.Call) (before marked, does string, err error) {
			err = machine.On(ctx, c, func(_ context.Context, vm *machine.VM) error {
				if vm.Config.Template {
					return fault.Refuse("vm %s: is a template already", vm.Name)
				}
				if err := vm.Reachable(); err != nil {
					return err
				}
				if vm.Pool == nil || vm.Runtime.Host == nil {
					return fault.Refuse("vm %s: is in no resource pool that it could come back to", vm.Name)
				}
				before = marked{Power: vm.Runtime.PowerState, Pool: *vm.Pool, Host: *vm.Runtime.Host}
				does = "mark as template (is " + machine.Words(before.Power) + ")"
				return nil
			})
			return before, does, err
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *marked) error {
			return machine.On(ctx, c, func(ctx context.Context, vm *machine.VM) error {
				if err := vm.Power(ctx, machine.PoweredOff); err != nil {
					return err
				}
				return vm.MarkAsTemplate(ctx)
			})
		},
		Revert: func(ctx context.Context, c *fault.Call, s *marked) error {
			return machine.Still(ctx, c, func(ctx context.Context, vm *machine.VM) error {
				if vm.Config.Template {
					pool, host := object.NewResourcePool(vm.Client(), s.Pool), object.NewHostSystem(vm.Client(), s.Host)
					if err := vm.MarkAsVirtualMachine(ctx, *pool, host); err != nil {
						return err
					}
				}
				return vm.Power(ctx, s.Power)
			})
		},
	})
}
