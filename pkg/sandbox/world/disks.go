package world

import (
	"cmp"
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// devices is the property that disks are read from.
const devices = "config.hardware.device"

// compact keeps of a property what is wanted of it: of a VM's devices, which are many, its disks.
func compact(name string, value any) any {
	if name != devices {
		return value
	}
	list, ok := value.(types.ArrayOfVirtualDevice)
	if !ok {
		return nil
	}
	return Disks(list.VirtualDevice)
}

// Disks lists the disks among the devices of a VM by their place.
func Disks(list []types.BaseVirtualDevice) []api.Disk {
	bus := map[int32]int{}
	for _, d := range list {
		if c, ok := d.(types.BaseVirtualController); ok {
			bus[d.GetVirtualDevice().Key] = int(c.GetVirtualController().BusNumber)
		}
	}
	var all []api.Disk
	for _, d := range list {
		disk, ok := d.(*types.VirtualDisk)
		if !ok {
			continue
		}
		row := api.Disk{Bytes: cmp.Or(disk.CapacityInBytes, disk.CapacityInKB<<10), Controller: bus[disk.ControllerKey]}
		if disk.UnitNumber != nil {
			row.Unit = int(*disk.UnitNumber)
		}
		if disk.VDiskId != nil {
			row.Volume = disk.VDiskId.Id
		}
		if b, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo); ok {
			row.UUID, row.File = b.Uuid, b.FileName
		}
		all = append(all, row)
	}
	slices.SortFunc(all, func(a, b api.Disk) int {
		return cmp.Or(cmp.Compare(a.Controller, b.Controller), cmp.Compare(a.Unit, b.Unit))
	})
	return all
}
