package corrections

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
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
	f.LocalizedMessage = Message(f.Fault)
}

const (
	// taskLife is the time for which a finished task can be queried: "only tasks in progress or completed within the last ten
	// minutes" are among a manager's recent tasks (API TaskManager.recentTask).
	taskLife = 10 * time.Minute
	// maxTasks limits the number of finished tasks; each has some 4 kB.
	maxTasks = 2000
)

// retention removes what vcsim keeps forever: finished tasks, and snapshots of removed VMs.
type retention struct {
	ref  vc.Ref
	base *simulator.Context

	mu       sync.Mutex
	finished []finished // oldest first
	working  bool
	closed   bool
	work     sync.WaitGroup
}

type finished struct {
	task vc.Ref
	at   time.Time
}

func newRetention(base *simulator.Context) *retention {
	return &retention{ref: vc.Ref{Type: "SandboxJanitor", Value: "sandbox-retention"}, base: base}
}

// Reference implements simulator.RegisterObject.
func (j *retention) Reference() vc.Ref { return j.ref }

// PutObject implements simulator.RegisterObject.
func (j *retention) PutObject(*simulator.Context, mo.Reference) {}

// RemoveObject implements simulator.RegisterObject: it removes the snapshots of a VM, whose lock is held.
func (j *retention) RemoveObject(ctx *simulator.Context, ref vc.Ref) {
	vm, ok := j.base.Map.Get(ref).(*simulator.VirtualMachine)
	if !ok || vm.Snapshot == nil {
		return
	}
	var remove func([]types.VirtualMachineSnapshotTree)
	remove = func(trees []types.VirtualMachineSnapshotTree) {
		for _, tree := range trees {
			remove(tree.ChildSnapshotList)
			ctx.Map.Remove(ctx, tree.Snapshot)
		}
	}
	remove(vm.Snapshot.RootSnapshotList)
}

// UpdateObject implements simulator.RegisterObject: it records finished tasks and removes old ones. It needs no timer: without
// finished tasks nothing grows.
func (j *retention) UpdateObject(_ *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	task, ok := obj.(*mo.Task)
	if !ok || !ended(changes) {
		return
	}
	now := time.Now()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.finished = append(j.finished, finished{task.Self, now})
	if j.working || j.closed || !j.due(now) {
		return
	}
	// Not here: the task is locked, and its removal notifies all followers of the registry.
	j.working = true
	j.work.Go(j.sweep)
}

// due reports whether tasks must be removed. Surplus ones are removed in hundreds, so that the lists of recent tasks are not
// rewritten for each.
func (j *retention) due(now time.Time) bool {
	return len(j.finished) > maxTasks+maxTasks/10 || (len(j.finished) > 0 && now.Sub(j.finished[0].at) > taskLife+taskLife/10)
}

func ended(changes []types.PropertyChange) bool {
	for _, c := range changes {
		if c.Name == "info.state" {
			return c.Val == types.TaskInfoStateSuccess || c.Val == types.TaskInfoStateError
		}
	}
	return false
}

func (j *retention) sweep() {
	old := j.take(time.Now())
	gone := make(map[vc.Ref]bool, len(old))
	entities := make(map[vc.Ref]bool)
	for _, f := range old {
		gone[f.task] = true
		if t, ok := j.base.Map.Get(f.task).(*simulator.Task); ok && t.Info.Entity != nil {
			entities[*t.Info.Entity] = true
		}
	}
	for ref := range entities {
		j.forget(ref, gone)
	}
	if m, ok := j.base.Map.Get(*simulatorContent(j.base).TaskManager).(*simulator.TaskManager); ok {
		ctx := vc.Fresh(j.base)
		m.Lock()
		ctx.Update(m, []types.PropertyChange{vc.P("recentTask", remaining(m.RecentTask, gone))})
		m.Unlock()
	}
	for _, f := range old {
		j.base.Map.Remove(vc.Fresh(j.base), f.task)
	}
	j.mu.Lock()
	j.working = false
	j.mu.Unlock()
}

// take returns the tasks to remove.
func (j *retention) take(now time.Time) []finished {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := max(0, len(j.finished)-maxTasks)
	for n < len(j.finished) && now.Sub(j.finished[n].at) > taskLife {
		n++
	}
	old := slices.Clone(j.finished[:n])
	j.finished = slices.Clone(j.finished[n:])
	return old
}

// forget removes the tasks from an entity's list of recent ones.
func (j *retention) forget(ref vc.Ref, gone map[vc.Ref]bool) {
	obj, ok := j.base.Map.Get(ref).(mo.Entity)
	if !ok {
		return
	}
	ctx := vc.Fresh(j.base)
	ctx.WithLock(obj, func() {
		ctx.Update(obj, []types.PropertyChange{vc.P("recentTask", remaining(obj.Entity().RecentTask, gone))})
	})
}

func remaining(tasks []vc.Ref, gone map[vc.Ref]bool) []vc.Ref {
	return slices.DeleteFunc(slices.Clone(tasks), func(ref vc.Ref) bool { return gone[ref] })
}

func (j *retention) close() {
	j.mu.Lock()
	j.closed = true
	j.mu.Unlock()
	j.work.Wait()
}

func simulatorContent(ctx *simulator.Context) types.ServiceContent {
	return ctx.Map.Get(vc.Ref{Type: "ServiceInstance", Value: "ServiceInstance"}).(*simulator.ServiceInstance).Content
}

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
