package inventory

import (
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// tasks notifies about the end of tasks; vcsim polls every 10 ms.
type tasks struct {
	registry *simulator.Registry

	mu   sync.Mutex
	ends map[vc.Ref]chan struct{}
}

func watchTasks(r *simulator.Registry) *tasks {
	t := &tasks{registry: r, ends: make(map[vc.Ref]chan struct{})}
	r.AddHandler(t)
	return t
}

func (t *tasks) close() { t.registry.RemoveHandler(t) }

// wait waits for the end of a task and returns its result.
func (t *tasks) wait(ctx *simulator.Context, task vc.Ref) (any, error) {
	t.mu.Lock()
	end := t.ends[task]
	t.mu.Unlock()
	if end != nil {
		<-end
	}
	t.mu.Lock()
	delete(t.ends, task)
	t.mu.Unlock()
	return vc.Wait(ctx, task) // at once if it has ended; or it started before this was watching
}

// Reference implements simulator.RegisterObject.
func (t *tasks) Reference() vc.Ref { return vc.Ref{Type: "SandboxTasks", Value: "sandbox-tasks"} }

// PutObject implements simulator.RegisterObject: a task is put before it starts.
func (t *tasks) PutObject(_ *simulator.Context, obj mo.Reference) {
	task, ok := obj.(*simulator.Task)
	if !ok {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ends[task.Self] = make(chan struct{})
}

// UpdateObject implements simulator.RegisterObject: the task's lock is held.
func (t *tasks) UpdateObject(_ *simulator.Context, obj mo.Reference, _ []types.PropertyChange) {
	task, ok := obj.(*mo.Task)
	if !ok || (task.Info.State != types.TaskInfoStateSuccess && task.Info.State != types.TaskInfoStateError) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if end := t.ends[task.Self]; end != nil {
		close(end)
		delete(t.ends, task.Self)
	}
}

// RemoveObject implements simulator.RegisterObject.
func (*tasks) RemoveObject(*simulator.Context, vc.Ref) {}
