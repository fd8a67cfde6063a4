package cns

import (
	"fmt"
	"strings"

	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/truth"
)

// messageOf is what a vCenter says of a fault beside it, as clients log it.
func messageOf(f types.BaseMethodFault) string {
	if f, ok := f.(*cnstypes.CnsFault); ok {
		return "CnsFault error: " + f.Reason
	}
	if said := truth.Message(f); said != "" {
		return said
	}
	return reasonOf(f)
}

// reason is reasonOf for an event of the volume, which tells more than CNS does. nil is a volume that there is not. The
// lock is held.
func (v *volume) reason(f types.BaseMethodFault) string {
	if _, used := f.(*types.ResourceInUse); used && v != nil && v.on != nil {
		return "volume " + v.id + ", on VM " + v.on.name + ", is in use"
	}
	return reasonOf(f)
}

// reasonOf says in words what a fault is about, for events.
func reasonOf(f types.BaseMethodFault) string {
	switch f := f.(type) {
	case *cnstypes.CnsFault:
		return f.Reason
	case *cnstypes.CnsAlreadyRegisteredFault:
		return "the disk is registered as volume " + f.VolumeId.Id
	case *cnstypes.CnsVolumeAlreadyExistsFault:
		return "volume " + f.VolumeId.Id + " exists"
	case *types.NotFound:
		return "the volume is not there, or not attached there"
	case *types.ManagedObjectNotFound:
		return fmt.Sprintf("%s %s is not there", f.Obj.Type, f.Obj.Value)
	case *types.ResourceInUse:
		return "the volume is in use"
	case *types.InvalidArgument:
		return "argument " + f.InvalidProperty + " is not valid"
	case *types.NoDiskSpace:
		return "datastore " + f.Datastore + " has not enough space"
	case *types.InaccessibleDatastore:
		return "datastore " + f.Name + ": " + f.Detail
	case *types.InvalidPowerState:
		return fmt.Sprintf("the VM is %s", f.ExistingState)
	case *types.InvalidState:
		return "the VM is in a state that does not allow it"
	case *types.FileLocked:
		return "the disk's file is locked"
	case *types.TooManyDevices:
		return "the VM has no free SCSI slot"
	case *types.NotSupported:
		return "not supported"
	case *types.NoPermission:
		return "no permission: " + f.PrivilegeId
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", f), "*types.")
}
