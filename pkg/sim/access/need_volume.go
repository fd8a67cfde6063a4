package access

import (
	cns "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// volumes says what calls of cloud native storage need of their arguments. What changes a disk needs a privilege on the
// datastore that it is on; what changes a VM's devices, on the VM. A vCenter refuses the call, not the volume in its result
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

// diskOn is the datastore that a first class disk is on; zero when there is no such disk.
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
