package host

import (
	"cmp"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// reason returns why full datastores or refused disks make a call impossible, or nil.
func (h *Hosts) reason(ctx *simulator.Context, body any) types.BaseMethodFault {
	switch req := body.(type) {
	case *types.CreateVM_Task:
		return h.noSpaceAt(ctx, &req.This, homeOf(req.Config))
	case *types.CreateChildVM_Task:
		return h.noSpaceAt(ctx, &req.This, homeOf(req.Config))
	case *types.CloneVM_Task:
		return h.noSpaceFor(ctx, req.This, req.Spec.Location.Datastore)
	case *types.RelocateVM_Task:
		if req.Spec.Datastore == nil || uses(ctx, req.This, *req.Spec.Datastore) {
			return nil
		}
		return h.noSpace(ctx, *req.Spec.Datastore)
	case *types.CreateSnapshot_Task:
		return h.noSpaceFor(ctx, req.This, nil)
	case *types.CreateSnapshotEx_Task:
		return h.noSpaceFor(ctx, req.This, nil)
	case *types.ReconfigVM_Task:
		return h.reconfig(ctx, req)
	case *types.AttachDisk_Task:
		attach, _ := h.DisksRefused(req.This)
		return attach
	case *types.DetachDisk_Task:
		_, detach := h.DisksRefused(req.This)
		return detach
	case *types.CreateVirtualDisk_Task:
		return h.noSpaceAt(ctx, req.Datacenter, req.Name)
	case *types.ExtendVirtualDisk_Task:
		return h.noSpaceAt(ctx, req.Datacenter, req.Name)
	case *types.CopyVirtualDisk_Task:
		return h.noSpaceAt(ctx, cmp.Or(req.DestDatacenter, req.SourceDatacenter), req.DestName)
	case *types.CreateDisk_Task:
		if b := req.Spec.BackingSpec; b != nil {
			return h.noSpace(ctx, b.GetVslmCreateSpecBackingSpec().Datastore)
		}
	case *types.ExtendDisk_Task:
		return h.noSpace(ctx, req.Datastore)
	}
	return nil
}

// reconfig checks the disks that are added to, removed from or extended on a VM.
func (h *Hosts) reconfig(ctx *simulator.Context, req *types.ReconfigVM_Task) types.BaseMethodFault {
	attach, detach := h.DisksRefused(req.This)
	for _, change := range req.Spec.DeviceChange {
		c := change.GetVirtualDeviceConfigSpec()
		disk, ok := c.Device.(*types.VirtualDisk)
		if !ok {
			continue
		}
		switch c.Operation {
		case types.VirtualDeviceConfigSpecOperationAdd:
			if attach != nil {
				return attach
			}
			if c.FileOperation != "" {
				if fault := h.noSpaceForDisk(ctx, req.This, disk); fault != nil {
					return fault
				}
			} else if h.opts.Locked != nil && h.opts.Locked(req.This, disk) {
				return new(types.FileLocked)
			}
		case types.VirtualDeviceConfigSpecOperationRemove:
			if detach != nil {
				return detach
			}
		case types.VirtualDeviceConfigSpecOperationEdit:
			if larger(ctx, req.This, disk) {
				if fault := h.noSpaceForDisk(ctx, req.This, disk); fault != nil {
					return fault
				}
			}
		}
	}
	return nil
}

// noSpaceForDisk checks the datastore of a disk: its own, that of its file, or the VM's home.
func (h *Hosts) noSpaceForDisk(ctx *simulator.Context, vm vc.Ref, disk *types.VirtualDisk) types.BaseMethodFault {
	b, ok := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo)
	if !ok {
		return h.noSpaceFor(ctx, vm, nil)
	}
	file := b.GetVirtualDeviceFileBackingInfo()
	if file.Datastore != nil {
		return h.noSpace(ctx, *file.Datastore)
	}
	if file.FileName != "" {
		return h.noSpaceAt(ctx, &vm, file.FileName)
	}
	return h.noSpaceFor(ctx, vm, nil)
}

// noSpaceFor checks a datastore, or the VM's home if none is named.
func (h *Hosts) noSpaceFor(ctx *simulator.Context, ref vc.Ref, datastore *vc.Ref) types.BaseMethodFault {
	if datastore != nil {
		return h.noSpace(ctx, *datastore)
	}
	vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return nil
	}
	path := ""
	ctx.WithLock(vm, func() {
		if vm.Config != nil {
			path = vm.Config.Files.VmPathName
		}
	})
	return h.noSpaceAt(ctx, &ref, path)
}

func uses(ctx *simulator.Context, ref, datastore vc.Ref) (yes bool) {
	vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return false
	}
	ctx.WithLock(vm, func() {
		for _, d := range vm.Datastore {
			yes = yes || d == datastore
		}
	})
	return yes
}

// larger reports whether the disk is larger than the VM's disk with the same key.
func larger(ctx *simulator.Context, ref vc.Ref, disk *types.VirtualDisk) (yes bool) {
	vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return false
	}
	ctx.WithLock(vm, func() {
		if vm.Config == nil {
			return
		}
		for _, d := range vm.Config.Hardware.Device {
			if is, ok := d.(*types.VirtualDisk); ok && is.Key == disk.Key {
				yes = disk.CapacityInKB > is.CapacityInKB || disk.CapacityInBytes > is.CapacityInBytes
			}
		}
	})
	return yes
}
