package store

import (
	"strings"

	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// kindOf sorts a fault by its type, and by its words where vCenter has the same type for everything. It returns nil for
// what is no reason known: whoever asked knows better what it may mean.
func kindOf(f types.BaseMethodFault, message string) error {
	if kind := exactKind(f); kind != nil {
		return kind
	}
	switch f.(type) {
	case types.BaseNoPermission:
		return volume.ErrPermission
	case types.BaseInvalidDatastore:
		return volume.ErrState
	case types.BaseInvalidState, types.BaseHostCommunication, types.BaseHostConnectFault:
		return volume.ErrState
	case types.BaseResourceInUse:
		return volume.ErrInUse
	}
	if kind := wordsKind(message); kind != nil {
		return kind
	}
	switch f.(type) {
	case types.BaseNotSupported:
		return volume.ErrNotSupported
	case types.BaseInvalidArgument:
		return volume.ErrInvalid
	case types.BaseInsufficientResourcesFault:
		return volume.ErrState
	}
	return causeKind(f)
}

// causeKind is that of the fault behind a fault: CNS has one for all that vSphere refuses it.
func causeKind(f types.BaseMethodFault) error {
	m := f.GetMethodFault()
	if m == nil || m.FaultCause == nil || m.FaultCause.Fault == nil {
		return nil
	}
	return kindOf(m.FaultCause.Fault, m.FaultCause.LocalizedMessage)
}

// exactKind knows the types that leave no doubt.
func exactKind(f types.BaseMethodFault) error {
	switch f := f.(type) {
	case *types.NotFound, *cnstypes.CnsVolumeNotFoundFault, *cnstypes.CnsNotRegisteredFault, *cnstypes.CnsSnapshotNotFoundFault:
		return volume.ErrNotFound
	case *types.ManagedObjectNotFound:
		return goneKind(f.Obj)
	case *types.NoDiskSpace, *types.InsufficientStorageSpace, *types.InsufficientStorageIops:
		return volume.ErrNoSpace
	case *types.TooManyDevices, *types.MissingController:
		return volume.ErrNoSlot
	case *types.FileLocked:
		return volume.ErrInUse
	case *types.TaskInProgress:
		return volume.ErrPending
	case *types.TooManySnapshotLevels:
		return volume.ErrLimit
	case *types.FileNotFound:
		return volume.ErrState
	}
	return nil
}

// goneKind is what it means that an object is no longer there.
func goneKind(obj types.ManagedObjectReference) error {
	switch obj.Type {
	case "VirtualMachine":
		return volume.ErrNodeGone
	case "Datastore":
		return volume.ErrNoDatastore
	}
	return nil
}

// wordsKind looks at the words of faults that have no type of their own. They are those of CNS in vSphere 7 and 8, in
// English: sessions log in with that locale (package vcenter).
func wordsKind(message string) error {
	message = strings.ToLower(message)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(message, w) {
				return true
			}
		}
		return false
	}
	switch {
	case has("scsi controller", "scsi slot", "no free unit", "maximum number of devices", "number of virtual devices exceeds"):
		return volume.ErrNoSlot
	case has("no space", "not enough space", "insufficient disk space", "not enough free space", "insufficient space", "out of space"):
		return volume.ErrNoSpace
	case has("snapshot") && has("maximum", "limit"):
		return volume.ErrLimit
	case has("snapshot") && has("has snapshot", "have snapshot", "with snapshot", "snapshots exist", "existing snapshot", "snapshots are present"):
		return volume.ErrSnapshots
	case has("not accessible", "inaccessible"):
		return volume.ErrState
	}
	return nil
}
