package truth

import (
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// taskNotes completes the properties of tasks: in vcsim every task has the user "vcsim", an entity named by its reference, the
// name of a Go type, and the Go type of a fault as its message.
type taskNotes struct {
	ref  vc.Ref
	name func(vc.Ref) string
}

func newTaskNotes(name func(vc.Ref) string) *taskNotes {
	return &taskNotes{vc.Ref{Type: "SandboxTaskNotes", Value: "sandbox-task-notes"}, name}
}

// Reference implements simulator.RegisterObject.
func (n *taskNotes) Reference() vc.Ref { return n.ref }

// PutObject implements simulator.RegisterObject.
func (n *taskNotes) PutObject(*simulator.Context, mo.Reference) {}

// RemoveObject implements simulator.RegisterObject.
func (n *taskNotes) RemoveObject(*simulator.Context, vc.Ref) {}

// UpdateObject implements simulator.RegisterObject. It changes the task without an update: the task is locked, and the changes
// are part of the update in progress.
func (n *taskNotes) UpdateObject(ctx *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	task, ok := obj.(*mo.Task)
	if !ok {
		return
	}
	for _, c := range changes {
		switch {
		case c.Name != "info.state":
		case c.Val == types.TaskInfoStateRunning:
			n.begin(ctx, &task.Info)
		case c.Val == types.TaskInfoStateError:
			describeFault(task.Info.Error)
		}
	}
}

// begin sets the user, the method and the entity of the task.
func (n *taskNotes) begin(ctx *simulator.Context, info *types.TaskInfo) {
	if name := callsOf(ctx).taskName(); name != "" {
		info.Name = name // vcsim: CloneVm, PowerOn; clients look the method up by it
	}
	if r, ok := info.Reason.(*types.TaskReasonUser); ok && ctx.Session != nil && ctx.Session.UserName != "" {
		r.UserName = ctx.Session.UserName
	}
	if info.Entity == nil {
		return
	}
	if name := n.name(*info.Entity); name != "" {
		info.EntityName = name
	}
}

func describeFault(f *types.LocalizedMethodFault) {
	if f == nil || f.Fault == nil {
		return
	}
	if f.LocalizedMessage != "" && f.LocalizedMessage != fmt.Sprintf("%T", f.Fault) {
		return // it has a message
	}
	if message := Message(f.Fault); message != "" {
		f.LocalizedMessage = message
	}
}
