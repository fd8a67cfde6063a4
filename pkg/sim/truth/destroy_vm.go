package truth

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// destroyVM destroys a VM and its files, but not the first-class disks that are attached to it: those have a life of
// their own.
func (c *Corrections) destroyVM(ctx *simulator.Context, vm *simulator.VirtualMachine, req *types.Destroy_Task) (body soap.HasFault) {
	ctx.WithLock(vm, func() {
		if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
			detachFirstClass(ctx, vm, c.opts.Destroying)
		}
		body = vm.DestroyTask(ctx, req)
	})
	return body
}

// detachFirstClass takes the first-class disks off a VM whose lock is held and makes them nobody's. told, if not nil, is
// told before.
func detachFirstClass(ctx *simulator.Context, vm *simulator.VirtualMachine, told func(vc.Ref)) {
	if told != nil {
		told(vm.Self)
	}
	its := map[types.ID]bool{} // another VM may go by the same UUID
	kept := slices.DeleteFunc(slices.Clone(vm.Config.Hardware.Device), func(d types.BaseVirtualDevice) bool {
		disk, ok := d.(*types.VirtualDisk)
		if !ok || disk.VDiskId == nil {
			return false
		}
		its[*disk.VDiskId] = true
		return true
	})
	if len(kept) != len(vm.Config.Hardware.Device) {
		ctx.Update(vm, []types.PropertyChange{vc.P("config.hardware.device", kept)})
	}
	m := ctx.Map.VStorageObjectManager()
	if m == nil {
		return
	}
	ctx.WithLock(m, func() {
		for _, disks := range m.Catalog() {
			for id, disk := range disks {
				if !its[id] {
					continue
				}
				disk.Config.ConsumerId = slices.DeleteFunc(slices.Clone(disk.Config.ConsumerId), func(id types.ID) bool {
					return id.Id == vm.Config.Uuid
				})
			}
		}
	})
}

// outcome waits for a task and returns its fault.
func outcome(ctx *simulator.Context, ref vc.Ref) types.BaseMethodFault {
	t, ok := ctx.Map.Get(ref).(*simulator.Task)
	if !ok {
		return nil
	}
	t.Wait()
	if t.Info.Error == nil {
		return nil
	}
	if fault := t.Info.Error.Fault; fault != nil {
		return fault
	}
	return new(types.RuntimeFault)
}
