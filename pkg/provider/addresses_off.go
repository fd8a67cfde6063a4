package provider

import (
	"errors"
	"fmt"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/address"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
)

// errOff says that a guest reports nothing because its VM does not run.
var errOff = errors.New("does not run")

// unaddressed says why a VM has no addresses; of a guest that cannot report any, that.
func unaddressed(vm *inventory.VM, err error) error {
	var p *address.Problem
	if errors.As(err, &p) && p.Reason == address.GuestNotReporting {
		switch vm.Power {
		case types.VirtualMachinePowerStatePoweredOff:
			return fmt.Errorf("vm %s %w: %w", vm, errOff, &address.Problem{Reason: p.Reason, Message: "it is off; power it on"})
		case types.VirtualMachinePowerStateSuspended:
			return fmt.Errorf("vm %s %w: %w", vm, errOff, &address.Problem{Reason: p.Reason, Message: "it is suspended; power it on"})
		}
	}
	return fmt.Errorf("vm %s (%s): %w", vm, vm.Power, err)
}
