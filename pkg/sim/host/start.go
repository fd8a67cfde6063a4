package host

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// PowerOnVMTask lets vcsim power a VM on, unless its host is on its way out of service or admission control is against it.
func (h *Hosts) PowerOnVMTask(ctx *simulator.Context, req *types.PowerOnVM_Task) soap.HasFault {
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return &methods.PowerOnVM_TaskBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	return h.start(ctx, vm, req)
}

// start checks and starts while no host changes in a way that the check would have to know of.
func (h *Hosts) start(ctx *simulator.Context, vm *simulator.VirtualMachine, req *types.PowerOnVM_Task) (body soap.HasFault) {
	lock, unlock := h.starting.RLock, h.starting.RUnlock
	if h.admit != nil {
		lock, unlock = h.starting.Lock, h.starting.Unlock // to count, one at a time
	}
	lock()
	defer unlock()
	var fault types.BaseMethodFault
	if h.admit != nil {
		fault = h.admit(vm.Self)
	}
	ctx.WithLock(vm, func() {
		if f := h.startable(ctx, vm); f != nil {
			fault = f // the better reason
		}
		if fault == nil {
			body = vm.PowerOnVMTask(ctx, req)
			return
		}
		t := simulator.CreateTask(vm.Self, "powerOn", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) { return nil, fault })
		body = &methods.PowerOnVM_TaskBody{Res: &types.PowerOnVM_TaskResponse{Returnval: t.Run(ctx)}}
	})
	// The task has taken the lock over, and gives it back when the VM is on.
	done := vc.Fresh(ctx)
	done.WithLock(vm, func() {})
	return body
}

// startable tells why the VM, whose lock is held, cannot be powered on.
func (h *Hosts) startable(ctx *simulator.Context, vm *simulator.VirtualMachine) types.BaseMethodFault {
	if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn || vm.Config != nil && vm.Config.Template || vm.Runtime.Host == nil {
		return nil // vcsim says so
	}
	c := h.of(*vm.Runtime.Host)
	if fault := c.fault(); fault != nil {
		return fault
	}
	if !c.usable() || h.connection(ctx, vm) != types.VirtualMachineConnectionStateConnected {
		return new(types.InvalidState)
	}
	return nil
}

// PowerOnMultiVMTask starts VMs of a datacenter. In a cluster with DRS a VM whose host cannot run it is started on another
// one.
func (h *Hosts) PowerOnMultiVMTask(ctx *simulator.Context, req *types.PowerOnMultiVM_Task) soap.HasFault {
	t := simulator.CreateTask(req.This, "powerOnMultiVM", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		result := types.ClusterPowerOnVmResult{}
		for _, ref := range req.Vm {
			one := vc.Fresh(ctx)
			vm, ok := one.Map.Get(ref).(*simulator.VirtualMachine)
			if !ok {
				result.NotAttempted = append(result.NotAttempted, types.ClusterNotAttemptedVmInfo{
					Vm: ref, Fault: *localized(&types.ManagedObjectNotFound{Obj: ref}),
				})
				continue
			}
			h.relocateToStart(one, vm)
			body, ok := h.start(one, vm, &types.PowerOnVM_Task{This: ref}).(*methods.PowerOnVM_TaskBody)
			if !ok || body.Res == nil {
				result.NotAttempted = append(result.NotAttempted, types.ClusterNotAttemptedVmInfo{Vm: ref, Fault: *localized(new(types.InvalidState))})
				continue
			}
			result.Attempted = append(result.Attempted, types.ClusterAttemptedVmInfo{Vm: ref, Task: &body.Res.Returnval})
		}
		return result, nil
	})
	// Not with the datacenter locked: a VM that is moving locks it, too.
	return &methods.PowerOnMultiVM_TaskBody{Res: &types.PowerOnMultiVM_TaskResponse{Returnval: vc.Run(ctx, t)}}
}

// relocateToStart moves a VM that is off from a host that cannot start it, where DRS would.
func (h *Hosts) relocateToStart(ctx *simulator.Context, vm *simulator.VirtualMachine) {
	var from vc.Ref
	ctx.WithLock(vm, func() {
		if vm.Runtime.Host != nil && vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOff {
			from = *vm.Runtime.Host
		}
	})
	host, ok := ctx.Map.Get(from).(*simulator.HostSystem)
	if !ok || h.Usable(from) {
		return
	}
	if cluster, ok := ctx.Map.Get(*host.Parent).(*simulator.ClusterComputeResource); ok && Automated(ctx, cluster, vm.Self) {
		_, _ = h.Migrate(vm.Self, from, 0, nil) // where it cannot, the start says why
	}
}

func localized(f types.BaseMethodFault) *types.LocalizedMethodFault {
	return &types.LocalizedMethodFault{Fault: f, LocalizedMessage: vc.Fault(f).Error()}
}
