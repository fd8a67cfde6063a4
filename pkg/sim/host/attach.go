package host

import (
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// attached lists the disks that a call attaches whose files there are.
func attached(req *types.ReconfigVM_Task) (disks []*types.VirtualDisk) {
	for _, change := range req.Spec.DeviceChange {
		c := change.GetVirtualDeviceConfigSpec()
		disk, ok := c.Device.(*types.VirtualDisk)
		if !ok || c.Operation != types.VirtualDeviceConfigSpecOperationAdd || c.FileOperation != "" {
			continue
		}
		if b, ok := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo); ok && b.GetVirtualDeviceFileBackingInfo().FileName != "" {
			disks = append(disks, disk)
		}
	}
	return disks
}

// attach lets vcsim do it, and gives the datastores back what vcsim takes for files that it has not made.
func (s *storage) attach(ctx *simulator.Context, vm *simulator.VirtualMachine, req *types.ReconfigVM_Task) (body soap.HasFault) {
	type taken struct {
		datastore string
		bytes     int64
	}
	var all []taken
	for _, disk := range attached(req) {
		var p object.DatastorePath
		if !p.FromString(disk.Backing.(types.BaseVirtualDeviceFileBackingInfo).GetVirtualDeviceFileBackingInfo().FileName) {
			continue
		}
		bytes := disk.CapacityInBytes
		if bytes == 0 {
			bytes = disk.CapacityInKB << 10
		}
		all = append(all, taken{p.Datastore, bytes})
	}
	before := len(diskFiles(ctx, vm))
	ctx.WithLock(vm, func() { body = vm.ReconfigVMTask(ctx, req) })
	done := vc.Fresh(ctx)
	done.WithLock(vm, func() {}) // The task has taken the lock over, and gives it back when it is done.
	if len(diskFiles(done, vm)) <= before {
		return body // it has failed
	}
	var datastores []vc.Ref
	done.WithLock(vm, func() { datastores = append(datastores, vm.Datastore...) })
	for _, t := range all {
		for _, ref := range datastores {
			ds, ok := done.Map.Get(ref).(*simulator.Datastore)
			if !ok || ds.Name != t.datastore {
				continue
			}
			done.WithLock(ds, func() { free(done, ds, ds.Summary.FreeSpace+t.bytes) })
		}
	}
	return body
}

// diskFiles lists the files of the VM's disks.
func diskFiles(ctx *simulator.Context, vm *simulator.VirtualMachine) (files []string) {
	ctx.WithLock(vm, func() {
		if vm.Config == nil {
			return
		}
		for _, d := range vm.Config.Hardware.Device {
			if disk, ok := d.(*types.VirtualDisk); ok {
				if b, ok := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo); ok {
					files = append(files, b.GetVirtualDeviceFileBackingInfo().FileName)
				}
			}
		}
	})
	return files
}
