package truth

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// CancelTask requests the cancellation of a cancelable task, which ends by its own. vcsim marks any task as failed, and then it
// succeeds.
func (c *Corrections) CancelTask(ctx *simulator.Context, req *types.CancelTask) (body soap.HasFault) {
	task, ok := ctx.Map.Get(req.This).(*simulator.Task)
	if !ok {
		return &methods.CancelTaskBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	ctx.WithLock(task, func() {
		var fault types.BaseMethodFault
		switch done := task.Info.State == types.TaskInfoStateSuccess || task.Info.State == types.TaskInfoStateError; {
		case task.Execute == nil:
			body = task.CancelTask(ctx, req) // of an extension
			return
		case done || task.Info.Cancelled:
			fault = new(types.InvalidState)
		case !task.Info.Cancelable:
			fault = new(types.NotSupported)
		default:
			ctx.Update(task, []types.PropertyChange{vc.P("info.cancelled", true)})
			body = &methods.CancelTaskBody{Res: new(types.CancelTaskResponse)}
			return
		}
		body = &methods.CancelTaskBody{Fault_: simulator.Fault("", fault)}
	})
	return body
}
