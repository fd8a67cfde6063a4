package cns

import (
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// uses notes that the VM, whose lock is held, has a disk on the datastore: each lists the other.
func uses(ctx *simulator.Context, vm *simulator.VirtualMachine, ref vc.Ref) {
	if !slices.Contains(vm.Datastore, ref) {
		ctx.Update(vm, []types.PropertyChange{vc.P("datastore", append(slices.Clone(vm.Datastore), ref))})
	}
	listed(ctx, ref, func(vms []vc.Ref) []vc.Ref {
		if slices.Contains(vms, vm.Self) {
			return vms
		}
		return append(vms, vm.Self)
	})
}

// usesNot takes that back, unless the VM, whose lock is held, has its home or another disk there.
func usesNot(ctx *simulator.Context, vm *simulator.VirtualMachine, ref vc.Ref) {
	if !slices.Contains(vm.Datastore, ref) || len(vm.Datastore) == 1 || at(ctx, vm, ref) {
		return
	}
	ctx.Update(vm, []types.PropertyChange{vc.P("datastore", slices.DeleteFunc(slices.Clone(vm.Datastore), func(r vc.Ref) bool { return r == ref }))})
	listed(ctx, ref, func(vms []vc.Ref) []vc.Ref {
		return slices.DeleteFunc(vms, func(r vc.Ref) bool { return r == vm.Self })
	})
}

// at tells whether the VM has files on the datastore.
func at(ctx *simulator.Context, vm *simulator.VirtualMachine, ref vc.Ref) bool {
	var home object.DatastorePath
	ds, ok := ctx.Map.Get(ref).(*simulator.Datastore)
	if ok && home.FromString(vm.Config.Files.VmPathName) && home.Datastore == ds.Name {
		return true
	}
	return slices.ContainsFunc(vm.Config.Hardware.Device, func(d types.BaseVirtualDevice) bool {
		b, ok := d.GetVirtualDevice().Backing.(types.BaseVirtualDeviceFileBackingInfo)
		if !ok {
			return false
		}
		on := b.GetVirtualDeviceFileBackingInfo().Datastore
		return on != nil && *on == ref
	})
}

// listed changes a copy of the datastore's list of VMs.
func listed(ctx *simulator.Context, ref vc.Ref, change func([]vc.Ref) []vc.Ref) {
	ds, ok := ctx.Map.Get(ref).(*simulator.Datastore)
	if !ok {
		return
	}
	ctx.WithLock(ds, func() {
		if vms := change(slices.Clone(ds.Vm)); !slices.Equal(vms, ds.Vm) {
			ctx.Update(ds, []types.PropertyChange{vc.P("vm", vms)})
		}
	})
}
