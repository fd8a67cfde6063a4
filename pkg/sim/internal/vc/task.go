package vc

import (
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Run starts a task like t.Run, but without the lock of the task's object, which vcsim would hold until the task ends:
// nobody could read the object, others that hold a VM's lock could not ask for it, and the task of an object that is removed
// meanwhile would end the process when it gives the lock back. What the task changes, it locks itself, with contexts of
// its own. The object may be locked by ctx now.
func Run(ctx *simulator.Context, t *simulator.Task) Ref {
	entity := *t.Info.Entity
	if e, ok := ctx.Map.Get(entity).(mo.Entity); ok {
		ctx.WithLock(e, func() { t.Info.EntityName = e.Entity().Name })
	}
	ready := make(chan struct{})
	run := t.Execute
	t.Execute = func(t *simulator.Task) (types.AnyType, types.BaseMethodFault) {
		<-ready
		return run(t)
	}
	h := &hide{task: t, ref: Ref{Type: "SandboxHide", Value: fmt.Sprintf("sandbox-hide-%p", t)}}
	h.nobody = h.ref // of each task its own, or they would wait for each other
	ctx.Map.AddHandler(h)
	ref := t.Run(ctx)
	ctx.Map.Remove(ctx, h.ref) // the handler, and the lock of nobody
	ctx.Map.AtomicUpdate(ctx, t, []types.PropertyChange{P("info.entity", entity)})
	close(ready)
	return ref
}

// hide gives a task another object between its announcement, which is for those who ask for the tasks of its object, and
// the moment when vcsim locks that.
type hide struct {
	ref    Ref
	task   *simulator.Task
	nobody Ref
}

// Reference implements simulator.RegisterObject.
func (h *hide) Reference() Ref { return h.ref }

// PutObject implements simulator.RegisterObject.
func (h *hide) PutObject(*simulator.Context, mo.Reference) {}

// RemoveObject implements simulator.RegisterObject.
func (h *hide) RemoveObject(*simulator.Context, Ref) {}

// UpdateObject implements simulator.RegisterObject: the task is locked.
func (h *hide) UpdateObject(_ *simulator.Context, obj mo.Reference, _ []types.PropertyChange) {
	if t, ok := obj.(*mo.Task); ok && t == &h.task.Task {
		t.Info.Entity = &h.nobody
	}
}

// Await waits for a task of vcsim and returns what came of it.
func Await(ctx *simulator.Context, task Ref) (types.AnyType, types.BaseMethodFault) {
	t, ok := ctx.Map.Get(task).(*simulator.Task)
	if !ok {
		return nil, new(types.InvalidRequest)
	}
	t.Wait()
	if t.Info.Error != nil {
		return nil, t.Info.Error.Fault
	}
	return t.Info.Result, nil
}
