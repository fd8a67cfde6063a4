package machine

import (
	"context"

	"github.com/vmware/govmomi/vim25/types"

	kinds "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// PowerState is that of a VM.
type PowerState = types.VirtualMachinePowerState

// The power states.
const (
	PoweredOn  = types.VirtualMachinePowerStatePoweredOn
	PoweredOff = types.VirtualMachinePowerStatePoweredOff
	Suspended  = types.VirtualMachinePowerStateSuspended
)

// Words is a power state as people say it.
func Words(s PowerState) string {
	switch s {
	case PoweredOn:
		return "on"
	case PoweredOff:
		return "off"
	case Suspended:
		return "suspended"
	}
	return string(s)
}

// Power brings the VM into a power state, from whichever it was in when it was read.
func (vm *VM) Power(ctx context.Context, want PowerState) error {
	now := vm.Runtime.PowerState
	if now == want {
		return nil
	}
	if want == Suspended && now == PoweredOff || now == Suspended && want == Suspended {
		if err := vm.step(ctx, PoweredOn); err != nil {
			return err
		}
	}
	return vm.step(ctx, want)
}

func (vm *VM) step(ctx context.Context, want PowerState) error {
	f := vm.PowerOff
	switch want {
	case PoweredOn:
		f = vm.PowerOn
	case Suspended:
		f = vm.Suspend
	}
	t, err := f(ctx)
	if err := Done(ctx, t, err); err != nil {
		return err
	}
	vm.Runtime.PowerState = want
	return nil
}

// Reachable refuses VMs of which nothing can be asked: templates, and those whose host or files are not there.
func (vm *VM) Reachable() error {
	if vm.Config.Template {
		return kinds.Refuse("vm %s: is a template, which is nothing that runs", vm.Name)
	}
	if s := vm.Runtime.ConnectionState; s != "" && s != types.VirtualMachineConnectionStateConnected {
		return kinds.Refuse("vm %s: is %s: vCenter can do nothing with it", vm.Name, s)
	}
	return nil
}

// Running refuses VMs that do not run.
func (vm *VM) Running() error {
	if err := vm.Reachable(); err != nil {
		return err
	}
	if vm.Runtime.PowerState != PoweredOn {
		return kinds.Refuse("vm %s: is %s", vm.Name, Words(vm.Runtime.PowerState))
	}
	return nil
}
