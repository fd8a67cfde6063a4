package access

import (
	"strings"

	cns "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// need is a privilege that a call requires on an object. If the object cannot have permissions, the entity to which it belongs
// counts, or the root folder.
type need struct {
	privilege string
	on        vc.Ref
}

// needs collects the required privileges of a call.
type needs []need

func (n *needs) add(privilege string, on ...vc.Ref) {
	for _, ref := range on {
		if ref != (vc.Ref{}) {
			*n = append(*n, need{privilege, ref})
		}
	}
}

func (n *needs) maybe(privilege string, on *vc.Ref) {
	if on != nil {
		n.add(privilege, *on)
	}
}

// needsOf returns what the call requires, for its receiver first and then for its arguments.
func needsOf(ctx *simulator.Context, method *simulator.Method) []need {
	var n needs
	kind := method.This.Type
	if family, ok := families[kind]; ok {
		kind = family
	}
	if privilege, ok := privileges[kind][method.Name]; ok {
		n.add(privilege, method.This)
	} else if _, entity := ctx.Map.Get(method.This).(mo.Entity); entity {
		n.add(readPrivilege, method.This)
	}
	n.vm(ctx, method)
	n.inventory(method)
	n.files(ctx, method)
	n.questions(method)
	n.volumes(ctx, method)
	return n
}

// vm adds what calls on VMs require for their arguments.
func (n *needs) vm(ctx *simulator.Context, method *simulator.Method) {
	switch req := method.Body.(type) {
	case *types.CreateVM_Task:
		n.add("Resource.AssignVMToPool", req.Pool)
		n.spec(ctx, req.This, &req.Config, true)
	case *types.CreateChildVM_Task:
		n.spec(ctx, req.This, &req.Config, true)
	case *types.RegisterVM_Task:
		n.maybe("Resource.AssignVMToPool", req.Pool)
	case *types.CloneVM_Task:
		n.add("VirtualMachine.Inventory.CreateFromExisting", req.Folder)
		n.relocate(&req.Spec.Location)
	case *types.InstantClone_Task:
		n.relocate(&req.Spec.Location)
	case *types.RelocateVM_Task:
		n.relocate(&req.Spec)
	case *types.MigrateVM_Task:
		n.maybe("Resource.AssignVMToPool", req.Pool)
	case *types.MarkAsVirtualMachine:
		n.add("Resource.AssignVMToPool", req.Pool)
	case *types.ReconfigVM_Task:
		n.spec(ctx, req.This, &req.Spec, false)
	case *types.AttachDisk_Task:
		n.add("Datastore.FileManagement", req.Datastore)
	case *types.PowerOnMultiVM_Task:
		n.add("VirtualMachine.Interact.PowerOn", req.Vm...)
	}
}

func (n *needs) relocate(spec *types.VirtualMachineRelocateSpec) {
	n.maybe("Resource.AssignVMToPool", spec.Pool)
	n.maybe("Datastore.AllocateSpace", spec.Datastore)
	n.maybe("VirtualMachine.Inventory.Move", spec.Folder)
}

// inventory adds what calls that move or list objects require for their arguments.
func (n *needs) inventory(method *simulator.Method) {
	switch req := method.Body.(type) {
	case *types.MoveIntoFolder_Task:
		for _, ref := range req.List {
			privilege := movePrivilege(ref.Type)
			n.add(privilege, ref, req.This)
		}
	case *types.MoveInto_Task:
		n.add("Host.Inventory.MoveHost", req.Host...)
	case *types.AddHost_Task:
		n.maybe("Resource.AssignVMToPool", req.ResourcePool)
	case *types.CreateContainerView:
		n.add(viewPrivilege, req.Container)
	case *types.SetField:
		n.add("Global.SetCustomField", req.Entity)
	case *types.CreateAlarm:
		n.add("Alarm.Create", req.Entity)
	case *types.AcknowledgeAlarm:
		n.add("Alarm.Acknowledge", req.Entity)
	case *types.LogUserEvent:
		n.add("Global.LogEvent", req.Entity)
	case *types.CreateIpPool:
		n.add("Datacenter.IpPoolConfig", req.Dc)
	case *types.UpdateIpPool:
		n.add("Datacenter.IpPoolConfig", req.Dc)
	case *types.DestroyIpPool:
		n.add("Datacenter.IpPoolConfig", req.Dc)
	}
}

func movePrivilege(kind string) string {
	switch kind {
	case "VirtualMachine":
		return "VirtualMachine.Inventory.Move"
	case "Datacenter":
		return "Datacenter.Move"
	case "Datastore":
		return "Datastore.Move"
	case "ComputeResource", "HostSystem":
		return "Host.Inventory.MoveHost"
	case "ClusterComputeResource":
		return "Host.Inventory.MoveCluster"
	case "Network", "DistributedVirtualPortgroup", "OpaqueNetwork":
		return "Network.Move"
	case "DistributedVirtualSwitch", "VmwareDistributedVirtualSwitch":
		return "DVSwitch.Move"
	}
	return "Folder.Move"
}

// questions adds what calls about privileges require on their entities.
func (n *needs) questions(method *simulator.Method) {
	switch req := method.Body.(type) {
	case *types.SetEntityPermissions:
		n.add("Authorization.ModifyPermissions", req.Entity)
	case *types.ResetEntityPermissions:
		n.add("Authorization.ModifyPermissions", req.Entity)
	case *types.RemoveEntityPermission:
		n.add("Authorization.ModifyPermissions", req.Entity)
	case *types.RetrieveEntityPermissions:
		n.add(readPrivilege, req.Entity)
	case *types.HasPrivilegeOnEntity:
		n.add(readPrivilege, req.Entity)
	case *types.HasPrivilegeOnEntities:
		n.add(readPrivilege, req.Entity...)
	case *types.HasUserPrivilegeOnEntities:
		n.add(viewPrivilege, req.Entities...)
	case *types.FetchUserPrivilegeOnEntities:
		n.add(viewPrivilege, req.Entities...)
	}
}

// files adds what calls on files require on their datastores.
func (n *needs) files(ctx *simulator.Context, method *simulator.Method) {
	const manage = "Datastore.FileManagement"
	switch req := method.Body.(type) {
	case *types.DeleteDatastoreFile_Task:
		n.add(manage, datastore(ctx, req.Name, req.Datacenter))
	case *types.MakeDirectory:
		n.add(manage, datastore(ctx, req.Name, req.Datacenter))
	case *types.MoveDatastoreFile_Task:
		n.add(manage, datastore(ctx, req.SourceName, req.SourceDatacenter), datastore(ctx, req.DestinationName, req.DestinationDatacenter))
	case *types.CopyDatastoreFile_Task:
		n.add(manage, datastore(ctx, req.SourceName, req.SourceDatacenter), datastore(ctx, req.DestinationName, req.DestinationDatacenter))
	case *types.CreateVirtualDisk_Task:
		n.add(manage, datastore(ctx, req.Name, req.Datacenter))
	case *types.DeleteVirtualDisk_Task:
		n.add(manage, datastore(ctx, req.Name, req.Datacenter))
	case *types.ExtendVirtualDisk_Task:
		n.add(manage, datastore(ctx, req.Name, req.Datacenter))
	case *types.MoveVirtualDisk_Task:
		n.add(manage, datastore(ctx, req.SourceName, req.SourceDatacenter), datastore(ctx, req.DestName, req.DestDatacenter))
	case *types.CopyVirtualDisk_Task:
		n.add(manage, datastore(ctx, req.SourceName, req.SourceDatacenter), datastore(ctx, req.DestName, req.DestDatacenter))
	case *types.SetVirtualDiskUuid:
		n.add(manage, datastore(ctx, req.Name, req.Datacenter))
	case *types.CreateDisk_Task:
		if b := req.Spec.BackingSpec; b != nil {
			n.add("Datastore.AllocateSpace", b.GetVslmCreateSpecBackingSpec().Datastore)
			n.add(manage, b.GetVslmCreateSpecBackingSpec().Datastore)
		}
	case *types.ReconcileDatastoreInventory_Task:
		n.add(manage, req.Datastore)
	case *types.DeleteVStorageObject_Task:
		n.add(manage, req.Datastore)
	case *types.ExtendDisk_Task:
		n.add(manage, req.Datastore)
	case *types.VStorageObjectCreateSnapshot_Task:
		n.add(manage, req.Datastore)
	case *types.DeleteSnapshot_Task:
		n.add(manage, req.Datastore)
	case *types.VCenterUpdateVStorageObjectMetadataEx_Task:
		n.add(manage, req.Datastore)
	case *types.SearchDatastore_Task:
		n.add("Datastore.Browse", datastore(ctx, req.DatastorePath, nil))
	case *types.SearchDatastoreSubFolders_Task:
		n.add("Datastore.Browse", datastore(ctx, req.DatastorePath, nil))
	}
}

// datastore returns the datastore of a path ("[shared] web/web.vmdk") in the datacenter of near, because datacenters may have
// datastores of the same name.
func datastore(ctx *simulator.Context, path string, near *vc.Ref) vc.Ref {
	rest, ok := strings.CutPrefix(strings.TrimSpace(path), "[")
	if !ok {
		return vc.Ref{}
	}
	wanted, _, _ := strings.Cut(rest, "]")
	var dc vc.Ref
	anywhere := true
	if near != nil {
		if in, ok := vc.Datacenter(ctx.Map, *near); ok {
			dc, anywhere = in, false
		}
	}
	for _, e := range ctx.Map.All("Datastore") {
		name := ""
		vc.Fresh(ctx).WithLock(e, func() { name = e.Entity().Name })
		if name != wanted {
			continue
		}
		if in, _ := vc.Datacenter(ctx.Map, e.Reference()); anywhere || in == dc {
			return e.Reference()
		}
	}
	return vc.Ref{}
}

// volumes adds what calls of Cloud Native Storage require for their arguments. Changes of a disk require a privilege on its
// datastore, changes of a VM's devices one on the VM. A vCenter refuses the call, not the volume in its result
// (kubernetes-sigs/vsphere-csi-driver#429, #506).
//
// Source: "vSphere Roles and Privileges" of the vSphere Container Storage Plug-in (roles CNS-DATASTORE, CNS-VM).
func (n *needs) volumes(ctx *simulator.Context, method *simulator.Method) {
	const manage = "Datastore.FileManagement"
	switch req := method.Body.(type) {
	case *cns.CnsCreateVolume:
		for _, spec := range req.CreateSpecs {
			n.add(manage, spec.Datastores...)
			if b, ok := spec.BackingObjectDetails.(*cns.CnsBlockBackingDetails); ok && b.BackingDiskId != "" {
				n.add(manage, diskOn(ctx, b.BackingDiskId))
			}
		}
	case *cns.CnsDeleteVolume:
		for _, id := range req.VolumeIds {
			if req.DeleteDisk {
				n.add(manage, diskOn(ctx, id.Id))
			}
		}
	case *cns.CnsExtendVolume:
		for _, spec := range req.ExtendSpecs {
			n.add(manage, diskOn(ctx, spec.VolumeId.Id))
		}
	case *cns.CnsRelocateVolume:
		for _, spec := range req.RelocateSpecs {
			s := spec.GetCnsVolumeRelocateSpec()
			n.add(manage, diskOn(ctx, s.VolumeId.Id), s.Datastore)
		}
	case *cns.CnsCreateSnapshots:
		for _, spec := range req.SnapshotSpecs {
			n.add(manage, diskOn(ctx, spec.VolumeId.Id))
		}
	case *cns.CnsDeleteSnapshots:
		for _, spec := range req.SnapshotDeleteSpecs {
			n.add(manage, diskOn(ctx, spec.VolumeId.Id))
		}
	case *cns.CnsAttachVolume:
		for _, spec := range req.AttachSpecs {
			n.add("VirtualMachine.Config.AddExistingDisk", spec.Vm)
			n.add("VirtualMachine.Config.AddRemoveDevice", spec.Vm)
		}
	case *cns.CnsDetachVolume:
		for _, spec := range req.DetachSpecs {
			n.add("VirtualMachine.Config.AddRemoveDevice", spec.Vm)
		}
	}
}

// diskOn returns the datastore of a first-class disk, or zero.
func diskOn(ctx *simulator.Context, id string) (on vc.Ref) {
	manager := ctx.Map.VStorageObjectManager()
	vc.Fresh(ctx).WithLock(manager, func() {
		for datastore, disks := range manager.Catalog() {
			if disks[types.ID{Id: id}] != nil {
				on = datastore
				return
			}
		}
	})
	return on
}

// spec adds what a configuration requires, on the VM or on the folder of a new one.
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

// settings adds what changes of a VM other than its devices require.
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

// device adds what adding, changing or removing a device requires.
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

// backing adds what a new disk requires on its datastore.
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

// network adds what a NIC requires on its network.
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
