package volume

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"

// params puts parameters together.
func params(first fault.Param, more ...fault.Param) []fault.Param {
	return append(append([]fault.Param{first}, more...), times())
}

func createFails() *fault.Kind {
	return failing(fault.Kind{
		Name:  "volume.create-fails",
		Short: "has CNS make no volumes",
		Long: `The call succeeds, and the result of its task has a fault. The claim stays pending, and csi-provisioner tries again, each
time later. Nothing is left of an attempt.`,
		Touches: "creation of volumes",
		Params:  params(answered(cnsFault, noPermission, notSupported, taskFault)),
		Reported: []string{
			"vsphere-csi-driver#2169",
		},
	}, call{"CnsCreateVolume", "Failed to create disk", "Datastore.FileManagement"})
}

func attachFails() *fault.Kind {
	return failing(fault.Kind{
		Name:  "volume.attach-fails",
		Short: "has CNS attach no volumes",
		Long: `The call succeeds, and the result of its task has a fault: in-use is a volume that another VM has, not-supported a disk
that the VM cannot take, cns-fault ("VSLM task failed") what CNS says when the layer below fails. The pod stays in ContainerCreating, and
csi-attacher tries again, each time later. See disk.attach-refused for VMs that take no disk, whoever adds it.`,
		Touches: "attachment of volumes",
		Params:  params(answered(cnsFault, inUse, notSupported, noPermission, invalidState, taskFault), whose()...),
		Reported: []string{
			"vsphere-csi-driver#1416", "vsphere-csi-driver#1175", "vsphere-csi-driver#519", "vsphere-csi-driver#320", "vsphere-csi-driver#570",
		},
	}, call{"CnsAttachVolume", "Failed to attach disk", "VirtualMachine.Config.AddExistingDisk"})
}

func detachFails() *fault.Kind {
	return failing(fault.Kind{
		Name:  "volume.detach-fails",
		Short: "has CNS detach no volumes",
		Long: `The call succeeds, and the result of its task has a fault. The VolumeAttachment stays, with the error in its status, and
where the volume is wanted elsewhere there is Multi-Attach until it heals.`,
		Touches:  "detachment of volumes",
		Params:   params(answered(cnsFault, noPermission, invalidState, taskFault), whose()...),
		Reported: []string{"vsphere-csi-driver#242", "vsphere-csi-driver#1590", "vsphere-csi-driver#221"},
	}, call{"CnsDetachVolume", "Failed to detach disk", "VirtualMachine.Config.RemoveDisk"})
}

func expandFails() *fault.Kind {
	return failing(fault.Kind{
		Name:  "volume.expand-fails",
		Short: "has CNS extend no volumes",
		Long: `The call succeeds, and the result of its task has a fault. The claim goes on asking for more than it has, csi-resizer tries
again, each time later, and pods go on with what there is.`,
		Touches:  "extension of volumes",
		Params:   params(answered(cnsFault, noPermission, invalidState, taskFault), whose()...),
		Reported: []string{"vsphere-csi-driver#478"},
	}, call{"CnsExtendVolume", "Failed to extend disk", "VirtualMachine.Config.DiskExtend"})
}

func snapshotFails() *fault.Kind {
	return failing(fault.Kind{
		Name:  "volume.snapshot-fails",
		Short: "has CNS make no snapshots",
		Long: `The call succeeds, and the result of its task has a fault. The VolumeSnapshot is not ready to use and says why, and
csi-snapshotter tries again, each time later.`,
		Touches:  "snapshots of volumes",
		Params:   params(answered(cnsFault, noPermission, notSupported, taskFault), whose()[:1]...),
		Reported: []string{"vsphere-csi-driver#2311"},
	}, call{"CnsCreateSnapshots", "Failed to create snapshot", "VirtualMachine.State.CreateSnapshot"})
}

func deleteFails() *fault.Kind {
	return failing(fault.Kind{
		Name:  "volume.delete-fails",
		Short: "has CNS delete no volumes",
		Long: `The call succeeds, and the result of its task has a fault: in-use is a volume that a VM has, or a snapshot of a VM. The
PersistentVolume stays Released, with an event, and csi-provisioner tries again, each time later.`,
		Touches:  "deletion of volumes",
		Params:   params(answered(cnsFault, inUse, noPermission, taskFault), whose()[:1]...),
		Reported: []string{"vsphere-csi-driver#1335", "vsphere-csi-driver#223", "vsphere-csi-driver#502"},
	}, call{"CnsDeleteVolume", "Failed to delete disk", "Datastore.FileManagement"})
}
