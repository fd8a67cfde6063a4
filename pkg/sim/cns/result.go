package cns

import (
	"fmt"

	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/vim25/types"
)

// CNS says what it could not do in the results of tasks that succeed, for each volume.

// batch is the result of a task.
func batch(results ...cnstypes.BaseCnsVolumeOperationResult) *cnstypes.CnsVolumeOperationBatchResult {
	return &cnstypes.CnsVolumeOperationBatchResult{VolumeResults: results}
}

// outcome is what became of a volume; a nil fault is success.
func outcome(id string, fault types.BaseMethodFault) cnstypes.CnsVolumeOperationResult {
	return cnstypes.CnsVolumeOperationResult{VolumeId: cnstypes.CnsVolumeId{Id: id}, Fault: localized(fault)}
}

// localized is a fault in a result, nil for none.
func localized(f types.BaseMethodFault) *types.LocalizedMethodFault {
	if f == nil {
		return nil
	}
	return &types.LocalizedMethodFault{Fault: f, LocalizedMessage: messageOf(f)}
}

// inUse is what CNS says of a volume that is attached. It names neither volume nor VM
// (kubernetes-sigs/vsphere-csi-driver#1175).
func inUse() *types.ResourceInUse { return &types.ResourceInUse{Name: "volume"} }

// because is CNS's own fault, with what vSphere says in it.
func because(cause types.BaseMethodFault, format string, args ...any) *cnstypes.CnsFault {
	f := &cnstypes.CnsFault{Reason: "CNS: " + fmt.Sprintf(format, args...)}
	if cause != nil {
		f.FaultCause = localized(cause)
	}
	return f
}
