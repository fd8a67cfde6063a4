package access

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// spec says what a configuration needs, on the VM, or on the folder of one that is created.
//
// Source: "Required Privileges" of VirtualMachine.ReconfigVM_Task and Folder.CreateVM_Task in the API reference.
func (n *needs) spec(ctx *simulator.Context, on vc.Ref, spec *types.VirtualMachineConfigSpec, create bool) {
	if !create {
		n.settings(on, spec)
	} else if spec.Files != nil {
		n.add("Datastore.AllocateSpace", datastore(ctx, spec.Files.VmPathName, &on))
	}
	for _, change := range spec.DeviceChange {
		n.device(ctx, on, change.GetVirtualDeviceConfigSpec(), create)
	}
}

// settings says what changes of a VM need that are not about devices.
func (n *needs) settings(on vc.Ref, spec *types.VirtualMachineConfigSpec) {
	before := len(*n)
	for _, c := range []struct {
		changed   bool
		privilege string
	}{
		{spec.Name != "", "VirtualMachine.Config.Rename"},
		{spec.Annotation != "", "VirtualMachine.Config.Annotation"},
		{spec.NumCPUs != 0 || spec.NumCoresPerSocket != nil, "VirtualMachine.Config.CPUCount"},
		{spec.MemoryMB != 0, "VirtualMachine.Config.Memory"},
		{spec.CpuAllocation != nil || spec.MemoryAllocation != nil, "VirtualMachine.Config.Resource"},
		{len(spec.ExtraConfig) > 0, "VirtualMachine.Config.AdvancedConfig"},
		{spec.ManagedBy != nil, "VirtualMachine.Config.ManagedBy"},
		{spec.ChangeTrackingEnabled != nil, "VirtualMachine.Config.ChangeTracking"},
		{spec.SwapPlacement != "", "VirtualMachine.Config.SwapPlacement"},
		{
			spec.GuestId != "" || spec.Uuid != "" || spec.InstanceUuid != "" || spec.Tools != nil || spec.Flags != nil ||
				spec.BootOptions != nil || spec.Firmware != "" || spec.CpuHotAddEnabled != nil || spec.MemoryHotAddEnabled != nil,
			"VirtualMachine.Config.Settings",
		},
	} {
		if c.changed {
			n.add(c.privilege, on)
		}
	}
	if len(*n) == before && len(spec.DeviceChange) == 0 {
		n.add("VirtualMachine.Config.Settings", on)
	}
}

// device says what adding, changing or removing a device needs.
func (n *needs) device(ctx *simulator.Context, on vc.Ref, change *types.VirtualDeviceConfigSpec, create bool) {
	disk, isDisk := change.Device.(*types.VirtualDisk)
	switch change.Operation {
	case types.VirtualDeviceConfigSpecOperationAdd:
		switch {
		case isDisk && change.FileOperation == "":
			n.add("VirtualMachine.Config.AddExistingDisk", on)
		case isDisk:
			n.add("VirtualMachine.Config.AddNewDisk", on)
			n.backing(ctx, on, disk)
		case !create:
			n.add("VirtualMachine.Config.AddRemoveDevice", on)
		}
		n.network(ctx, change.Device)
	case types.VirtualDeviceConfigSpecOperationRemove:
		if isDisk {
			n.add("VirtualMachine.Config.RemoveDisk", on)
		} else {
			n.add("VirtualMachine.Config.AddRemoveDevice", on)
		}
	default:
		if isDisk {
			n.add("VirtualMachine.Config.DiskExtend", on)
		} else {
			n.add("VirtualMachine.Config.EditDevice", on)
		}
		n.network(ctx, change.Device)
	}
}

// backing says what a new disk needs of the datastore it is created on.
func (n *needs) backing(ctx *simulator.Context, on vc.Ref, disk *types.VirtualDisk) {
	b, ok := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo)
	if !ok {
		return
	}
	info := b.GetVirtualDeviceFileBackingInfo()
	if info.Datastore != nil {
		n.add("Datastore.AllocateSpace", *info.Datastore)
	} else {
		n.add("Datastore.AllocateSpace", datastore(ctx, info.FileName, &on))
	}
}

// network says what a NIC needs of the network it is connected to.
func (n *needs) network(ctx *simulator.Context, device types.BaseVirtualDevice) {
	if device == nil {
		return
	}
	switch b := device.GetVirtualDevice().Backing.(type) {
	case *types.VirtualEthernetCardNetworkBackingInfo:
		n.maybe("Network.Assign", b.Network)
	case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
		if key := b.Port.PortgroupKey; key != "" {
			ref := vc.Ref{Type: "DistributedVirtualPortgroup", Value: key}
			if ctx.Map.Get(ref) != nil {
				n.add("Network.Assign", ref)
			}
		}
	}
}
