package truth

import (
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// MigrateVMTask moves a VM to another host or resource pool, its files staying where they are.
func (c *Corrections) MigrateVMTask(ctx *simulator.Context, req *types.MigrateVM_Task) soap.HasFault {
	ref := task(ctx, req.This, "migrate", func(vm *simulator.VirtualMachine) types.BaseMethodFault {
		if req.Host == nil && req.Pool == nil {
			return &types.InvalidArgument{InvalidProperty: "host"}
		}
		if req.State != "" && req.State != vm.Runtime.PowerState {
			return &types.InvalidPowerState{RequestedState: req.State, ExistingState: vm.Runtime.PowerState}
		}
		return relocate(ctx, vm, types.VirtualMachineRelocateSpec{Host: req.Host, Pool: req.Pool})
	})
	return &methods.MigrateVM_TaskBody{Res: &types.MigrateVM_TaskResponse{Returnval: ref}}
}

// RelocateVMTask moves a VM to another host, resource pool, datastore and folder, within a vCenter.
func (c *Corrections) RelocateVMTask(ctx *simulator.Context, req *types.RelocateVM_Task) soap.HasFault {
	ref := task(ctx, req.This, "relocate", func(vm *simulator.VirtualMachine) types.BaseMethodFault {
		if req.Spec.Service != nil {
			return &types.NotSupported{} // another vCenter
		}
		return relocate(ctx, vm, req.Spec)
	})
	return &methods.RelocateVM_TaskBody{Res: &types.RelocateVM_TaskResponse{Returnval: ref}}
}

// relocate checks everything before it changes anything. The VM's lock is held.
func relocate(ctx *simulator.Context, vm *simulator.VirtualMachine, spec types.VirtualMachineRelocateSpec) types.BaseMethodFault {
	d, fault := resolve(ctx, vm, spec)
	if fault != nil {
		return fault
	}
	from := *vm.Runtime.Host
	source, _ := ctx.Map.Get(from).(*simulator.HostSystem)
	event := &types.VmMigratedEvent{}
	if source != nil {
		event.SourceHost = *hostArgument(source)
	}
	event.SourceDatacenter, _ = datacenter(ctx, vm.Self)
	if len(vm.Datastore) > 0 {
		if ds, ok := ctx.Map.Get(vm.Datastore[0]).(*simulator.Datastore); ok {
			event.SourceDatastore = datastoreArgument(ds)
		}
	}

	vc.Post(ctx, begun(ctx, vm, d, event))
	if len(spec.DeviceChange) > 0 {
		if fault := reconfigure(ctx, vm, spec.DeviceChange); fault != nil {
			return fault
		}
	}
	if d.datastore != nil {
		if fault := moveFiles(ctx, vm, d.datastore); fault != nil {
			return fault
		}
	}
	changes := []types.PropertyChange{
		vc.P("runtime.host", d.host.Self), vc.P("summary.runtime.host", d.host.Self), vc.P("resourcePool", d.pool),
	}
	if d.networks != nil {
		changes = append(changes, reconnect(ctx, vm, d.networks)...)
	}
	relist(ctx, vm.Self, from, d.host.Self)
	if vm.ResourcePool != nil {
		relist(ctx, vm.Self, *vm.ResourcePool, d.pool)
	}
	if d.folder != nil && *d.folder != *vm.Parent {
		moveFolder(ctx, vm, *d.folder)
	}
	ctx.Update(vm, changes)

	event.VmEvent = vmEvent(ctx, vm, "")
	event.FullFormattedMessage = fmt.Sprintf("Migration of virtual machine %s from %s to %s completed", vm.Name,
		whereabouts(event.SourceHost.Name, event.SourceDatastore), whereabouts(d.host.Name, event.Ds))
	if from == d.host.Self && d.datastore != nil {
		vc.Post(ctx, &types.VmRelocatedEvent{
			VmRelocateSpecEvent: types.VmRelocateSpecEvent{VmEvent: event.VmEvent},
			SourceHost:          event.SourceHost, SourceDatacenter: event.SourceDatacenter, SourceDatastore: event.SourceDatastore,
		})
		return nil
	}
	vc.Post(ctx, event)
	return nil
}

// begun is the event that says that a VM, whose lock is held, is about to move: to another host while it is on or off, or
// with its files alone.
func begun(ctx *simulator.Context, vm *simulator.VirtualMachine, d destination, end *types.VmMigratedEvent) types.BaseEvent {
	e := vmEvent(ctx, vm, "Migrating %s from %s to %s", vm.Name, end.SourceHost.Name, d.host.Name)
	var ds *types.DatastoreEventArgument
	if d.datastore != nil {
		ds = datastoreArgument(d.datastore)
	} else if e.Ds != nil {
		ds = e.Ds
	}
	dc, _ := datacenter(ctx, d.host.Self)
	switch {
	case end.SourceHost.Host == d.host.Self && d.datastore != nil:
		e.FullFormattedMessage = fmt.Sprintf("Relocating %s from %s to %s", vm.Name,
			whereabouts(end.SourceHost.Name, end.SourceDatastore), whereabouts(d.host.Name, ds))
		return &types.VmBeingRelocatedEvent{
			VmRelocateSpecEvent: types.VmRelocateSpecEvent{VmEvent: e},
			DestHost:            *hostArgument(d.host), DestDatacenter: dc, DestDatastore: ds,
		}
	case vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn:
		return &types.VmBeingHotMigratedEvent{VmEvent: e, DestHost: *hostArgument(d.host), DestDatacenter: dc, DestDatastore: ds}
	}
	return &types.VmBeingMigratedEvent{VmEvent: e, DestHost: *hostArgument(d.host), DestDatacenter: dc, DestDatastore: ds}
}

// whereabouts is how an event says where a VM is.
func whereabouts(host string, datastore *types.DatastoreEventArgument) string {
	if datastore == nil {
		return host
	}
	return host + ", " + datastore.Name
}

// reconfigure lets vcsim change the VM's devices, within our task: the lock that ctx holds is handed on.
func reconfigure(ctx *simulator.Context, vm *simulator.VirtualMachine, changes []types.BaseVirtualDeviceConfigSpec) types.BaseMethodFault {
	body, ok := vm.ReconfigVMTask(ctx, &types.ReconfigVM_Task{
		This: vm.Self, Spec: types.VirtualMachineConfigSpec{DeviceChange: changes},
	}).(*methods.ReconfigVM_TaskBody)
	if !ok || body.Res == nil {
		return new(types.InvalidVmConfig)
	}
	t, ok := ctx.Map.Get(body.Res.Returnval).(*simulator.Task)
	if !ok {
		return new(types.InvalidVmConfig)
	}
	t.Wait()
	if t.Info.Error != nil {
		return t.Info.Error.Fault
	}
	return nil
}
