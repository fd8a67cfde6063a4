package vm

import (
	"context"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/machine"
)

// shuttingDown is the power state to go back to, and how far the guest was seen.
type shuttingDown struct {
	powered
	Asked bool `json:"asked,omitempty"`
	Off   bool `json:"off,omitempty"`
}

func guestShutdown() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "vm.guest-shutdown", Object: fault.VM, Touches: touchesPower,
		Short:    "asks guests to shut down, through VMware Tools",
		Long:     "The VM is off when the guest has done so. Refused where VMware Tools do not run: nobody would hear it. Healing powers the VM on.",
		Reported: []string{"cloud-provider-vsphere#207"},
	}, fault.Steps[shuttingDown]{
		Plan: func(ctx context.Context, c *fault.Call) (before shuttingDown, _ string, _ error) {
			err := machine.On(ctx, c, func(_ context.Context, vm *machine.VM) error {
				before.Power = vm.Runtime.PowerState
				if err := vm.Running(); err != nil {
					return err
				}
				if vm.Guest == nil || vm.Guest.ToolsRunningStatus != string(types.VirtualMachineToolsRunningStatusGuestToolsRunning) {
					return fault.Refuse("vm %s: its guest cannot be asked: VMware Tools do not run", vm.Name)
				}
				return nil
			})
			return before, "ask the guest to shut down (is on)", err
		},
		Apply: func(ctx context.Context, c *fault.Call, s *shuttingDown) error {
			return machine.On(ctx, c, func(ctx context.Context, vm *machine.VM) error {
				s.Asked = true
				if err := vm.ShutdownGuest(ctx); err != nil {
					return err
				}
				err := machine.Waited(ctx, vm.WaitForPowerState(ctx, machine.PoweredOff))
				s.Off = err == nil
				return err
			})
		},
		Revert: func(ctx context.Context, c *fault.Call, s *shuttingDown) error {
			return machine.Still(ctx, c, func(ctx context.Context, vm *machine.VM) error {
				if s.Asked && !s.Off { // nobody has waited for it: it may be about to go off
					if err := vm.Power(ctx, machine.PoweredOff); err != nil {
						return err
					}
					s.Off = true
				}
				return vm.Power(ctx, s.Power)
			})
		},
	})
}
