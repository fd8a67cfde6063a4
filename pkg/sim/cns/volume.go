package cns

import (
	"time"

	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// volume is what is known of a volume; guarded by Manager.mu.
type volume struct {
	id, name string
	number   uint64 // by which volumes are ordered: see put
	// file: a vSAN file share, which has no disk and is attached nowhere.
	file bool
	// metadata is one per container cluster that uses the volume, the creator's first.
	metadata  []cnstypes.CnsVolumeMetadata
	capacity  int64 // MiB
	datastore vc.Ref
	// disk is its VMDK's UUID, "6000C29…" with dashes as a device's backing has it; unique, and the same for ever.
	disk string
	path string // of the descriptor: "[ds] fcd/<id>.vmdk"
	// policy is the id of its storage policy; empty for none.
	policy  string
	created time.Time
	// keep: it outlives the VM that it is attached to when that is destroyed. Volumes that CNS made do.
	keep     bool
	on       *attachment // nil while it is attached to none; guarded by Manager.mu also while the volume is busy
	snapshot []snapshot  // oldest first
	// flags are the control flags that are set, but keepAfterDeleteVm, which is keep.
	flags controlFlags
	share share // of a file volume
	// busy is closed when the operation on it ends; nil while there is none.
	busy chan struct{}
}

// attachment is the device by which a volume is on a VM.
type attachment struct {
	vm         vc.Ref
	name, uuid string // of the VM, when it was attached
	key        int32  // of the device
	controller int32  // its key
	unit       int32
}

// snapshot is one of a volume.
type snapshot struct {
	id, description string
	created         time.Time
	capacity        int64 // of the disk then, MiB
	size            int64 // what it takes on the datastore, MiB
}

// snapshotSize is what a volume's snapshots take together, MiB. The lock is held, or the volume busy.
func (v *volume) snapshotSize() (mb int64) {
	for _, s := range v.snapshot {
		mb += s.size
	}
	return mb
}

// Volume is a copy of what CNS knows of a volume.
type Volume struct {
	ID, Name string
	// File: it is a file share.
	File bool
	// CapacityMB is MiB.
	CapacityMB int64
	Datastore  types.ManagedObjectReference
	DiskUUID   string // as in a device's backing; empty for a file share
	Path       string // of its descriptor
	PolicyID   string
	Clusters   []string // ids of container clusters that use it
	// VM is what it is attached to, the zero reference for none; Controller and Unit are its place there.
	VM               types.ManagedObjectReference
	Controller, Unit int32
	Snapshots        int
	Created          time.Time
}
