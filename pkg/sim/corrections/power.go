package corrections

import (
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// ResetVMTask resets a VM: it stays powered on, its boot time changes, its guest restarts.
func (c *Corrections) ResetVMTask(ctx *simulator.Context, req *types.ResetVM_Task) soap.HasFault {
	ref := task(ctx, req.This, "reset", func(vm *simulator.VirtualMachine) types.BaseMethodFault {
		if fault := poweredOn(vm); fault != nil {
			return fault
		}
		now := time.Now()
		vc.Post(ctx, &types.VmResettingEvent{VmEvent: vc.VMEvent(ctx, vm, "%s is reset", vm.Name)})
		ctx.Update(vm, []types.PropertyChange{vc.P("runtime.bootTime", now), vc.P("summary.runtime.bootTime", now)})
		return nil
	})
	return &methods.ResetVM_TaskBody{Res: &types.ResetVM_TaskResponse{Returnval: ref}}
}

// RebootGuest restarts the guest; power state and boot time stay.
func (c *Corrections) RebootGuest(ctx *simulator.Context, req *types.RebootGuest) soap.HasFault {
	fault := askGuest(ctx, req.This, func(vm *simulator.VirtualMachine) {
		vc.Post(ctx, &types.VmGuestRebootEvent{VmEvent: vc.VMEvent(ctx, vm, "Guest OS reboot for %s", vm.Name)})
		ctx.Update(vm, []types.PropertyChange{vc.P("guest.guestState", string(types.VirtualMachineGuestStateResetting))})
	})
	if fault != nil {
		return &methods.RebootGuestBody{Fault_: fault}
	}
	return &methods.RebootGuestBody{Res: new(types.RebootGuestResponse)}
}

// RefreshDatastore does nothing: capacity and free space are those of the topology and later changes.
func (c *Corrections) RefreshDatastore(*simulator.Context, *types.RefreshDatastore) soap.HasFault {
	return &methods.RefreshDatastoreBody{Res: new(types.RefreshDatastoreResponse)}
}

// askGuest runs f with the VM locked, if its tools run.
func askGuest(ctx *simulator.Context, ref vc.Ref, f func(*simulator.VirtualMachine)) *soap.Fault {
	vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return simulator.Fault("", &types.ManagedObjectNotFound{Obj: ref})
	}
	var fault types.BaseMethodFault
	ctx.WithLock(vm, func() {
		if fault = guestRuns(vm); fault == nil {
			f(vm)
		}
	})
	if fault != nil {
		return simulator.Fault("", fault)
	}
	return nil
}

// task runs f as a task on the VM, with the VM locked until its end, like vcsim's tasks.
func task(ctx *simulator.Context, ref vc.Ref, name string, f func(*simulator.VirtualMachine) types.BaseMethodFault) vc.Ref {
	var started vc.Ref
	ctx.WithLock(ref, func() {
		started = simulator.CreateTask(ref, name, func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
			vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
			if !ok {
				return nil, &types.ManagedObjectNotFound{Obj: ref}
			}
			return nil, f(vm)
		}).Run(ctx)
	})
	return started
}

func poweredOn(vm *simulator.VirtualMachine) types.BaseMethodFault {
	if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
		return nil
	}
	return &types.InvalidPowerState{
		RequestedState: types.VirtualMachinePowerStatePoweredOn,
		ExistingState:  vm.Runtime.PowerState,
	}
}

func guestRuns(vm *simulator.VirtualMachine) types.BaseMethodFault {
	if fault := poweredOn(vm); fault != nil {
		return fault
	}
	if vm.Guest == nil || vm.Guest.ToolsRunningStatus != string(types.VirtualMachineToolsRunningStatusGuestToolsRunning) {
		return new(types.ToolsUnavailable)
	}
	return nil
}

// runtimes sets the enums of a VM's runtime that a vCenter always sets and vcsim leaves empty: pyvmomi cannot decode the runtime
// of a VM without them.
type runtimes struct{ ref vc.Ref }

func newRuntimes(base *simulator.Context) *runtimes {
	r := &runtimes{ref: vc.Ref{Type: "SandboxRuntimes", Value: "sandbox-runtimes"}}
	for _, vm := range base.Map.All("VirtualMachine") {
		vc.Fresh(base).WithLock(vm, func() { r.PutObject(base, vm) })
	}
	return r
}

// Reference implements simulator.RegisterObject.
func (r *runtimes) Reference() vc.Ref { return r.ref }

// PutObject implements simulator.RegisterObject: the VM is locked, or not shared yet.
func (r *runtimes) PutObject(_ *simulator.Context, obj mo.Reference) {
	vm, ok := obj.(*simulator.VirtualMachine)
	if !ok {
		return
	}
	for _, is := range []*types.VirtualMachineRuntimeInfo{&vm.Runtime, &vm.Summary.Runtime} {
		if is.FaultToleranceState == "" {
			is.FaultToleranceState = types.VirtualMachineFaultToleranceStateNotConfigured
		}
		if is.RecordReplayState == "" {
			is.RecordReplayState = types.VirtualMachineRecordReplayStateInactive
		}
	}
}

// UpdateObject implements simulator.RegisterObject.
func (r *runtimes) UpdateObject(*simulator.Context, mo.Reference, []types.PropertyChange) {}

// RemoveObject implements simulator.RegisterObject.
func (r *runtimes) RemoveObject(*simulator.Context, vc.Ref) {}
