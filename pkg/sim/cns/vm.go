package cns

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/host"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// withVM calls f with the VM locked; the fault is f's, or that the VM is not there.
func (m *Manager) withVM(ctx *simulator.Context, ref vc.Ref, f func(vm *simulator.VirtualMachine) types.BaseMethodFault) (fault types.BaseMethodFault) {
	gone := &types.ManagedObjectNotFound{Obj: ref}
	vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return gone
	}
	ctx.WithLock(vm, func() {
		if ctx.Map.Get(ref) == nil { // destroyed while its lock was waited for
			fault = gone
			return
		}
		fault = f(vm)
	})
	return fault
}

// nameOf is the VM's name; empty when there is none.
func (m *Manager) nameOf(ctx *simulator.Context, ref vc.Ref) (name string) {
	_ = m.withVM(ctx, ref, func(vm *simulator.VirtualMachine) types.BaseMethodFault { name = vm.Name; return nil })
	return name
}

// disksRefused is what RefuseDisks has said of the VM.
func (m *Manager) disksRefused(ctx *simulator.Context, vm vc.Ref) (attach, detach types.BaseMethodFault) {
	if h := host.Of(ctx); h != nil {
		return h.DisksRefused(vm)
	}
	return nil, nil
}

// changeable tells why the devices of the VM, whose lock is held, cannot be changed in the state that it is in; nil when
// they can. doing is what is to be done, for CNS's words.
func changeable(vm *simulator.VirtualMachine, doing string) types.BaseMethodFault {
	switch vm.Runtime.ConnectionState {
	case types.VirtualMachineConnectionStateDisconnected:
		return because(new(types.HostNotConnected), "Failed to %s disk: the VM's host is not connected", doing)
	case types.VirtualMachineConnectionStateOrphaned, types.VirtualMachineConnectionStateInaccessible, types.VirtualMachineConnectionStateInvalid:
		return new(types.InvalidState)
	default:
	}
	switch {
	case vm.Config == nil || vm.Config.Template || vm.Runtime.Host == nil:
		return new(types.InvalidState)
	case vm.Runtime.PowerState == types.VirtualMachinePowerStateSuspended:
		return &types.InvalidPowerState{
			RequestedState: types.VirtualMachinePowerStatePoweredOn, ExistingState: vm.Runtime.PowerState,
		}
	}
	return nil
}
