package truth

import (
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// traffic keeps removals apart from everything else that continues: vcsim's tasks look up hosts, datastores and networks
// as they go, without holding on to them, and panic when one has gone meanwhile. So a removal waits until no task runs, and
// calls that would start one wait until it is over, which takes a moment: those that come while it waits, too, or it would
// never begin in a busy vCenter.
//
// Tasks on hosts are ours, look where they go, and may wait for hours for VMs to leave; they do not count, and neither do
// tasks of extensions and those that rules of the gate let fail.
type traffic struct {
	ref vc.Ref

	removal sync.Mutex // held by the one removal at a time

	mu       sync.Mutex
	deleting map[vc.Ref]bool // tasks that delete files: a VM's continue for a moment after its own
	running  map[vc.Ref]bool // tasks, but removals and those that may take long
	changed  chan struct{}   // closed and replaced when nothing runs any more or a removal ends
	open     bool            // no removal continues, nor waits to
}

// patience is how long a removal waits for tasks to end.
const patience = 10 * time.Second

func newTraffic() *traffic {
	return &traffic{
		ref:      vc.Ref{Type: "SandboxTraffic", Value: "sandbox-traffic"},
		deleting: make(map[vc.Ref]bool),
		running:  make(map[vc.Ref]bool),
		changed:  make(chan struct{}),
		open:     true,
	}
}

// enter waits while a removal continues, and until files that are being deleted are gone: a VM that has been destroyed has
// none any more. It must not be called with an object locked.
func (t *traffic) enter() {
	t.await(func() bool { return t.open && len(t.deleting) == 0 }, func() bool { return t.open })
}

// settle waits until files that are being deleted are gone.
func (t *traffic) settle() {
	t.await(func() bool { return len(t.deleting) == 0 }, func() bool { return true })
}

// await waits until done, from the moment that bounded says so only for so long: a disk that does not answer is not to
// hold everything up. Both are called with t.mu held.
func (t *traffic) await(done, bounded func() bool) {
	var late <-chan time.Time
	for {
		t.mu.Lock()
		is, soon, changed := done(), bounded(), t.changed
		t.mu.Unlock()
		if is {
			return
		}
		if soon && late == nil {
			late = time.After(patience)
		}
		select {
		case <-changed:
		case <-late:
			return
		}
	}
}

// alone runs f while no task runs. It reports whether that came to be.
func (t *traffic) alone(f func()) bool {
	t.removal.Lock()
	defer t.removal.Unlock()
	t.mu.Lock()
	t.open = false
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.open = true
		t.tell()
	}()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		t.mu.Lock()
		quiet, changed := len(t.running) == 0, t.changed
		t.mu.Unlock()
		if quiet {
			f()
			return true
		}
		select {
		case <-changed:
		case <-deadline.C:
			return false
		}
	}
}

// tell wakes everybody; t.mu is held.
func (t *traffic) tell() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// Reference implements simulator.RegisterObject.
func (t *traffic) Reference() vc.Ref { return t.ref }

// PutObject implements simulator.RegisterObject: a task begins.
func (t *traffic) PutObject(ctx *simulator.Context, obj mo.Reference) {
	task, ok := obj.(*simulator.Task)
	if !ok || task.Execute == nil || task.Info.DescriptionId == removalID || task.Info.Entity == nil ||
		task.Info.Entity.Type == "HostSystem" || ctx.Map.Get(*task.Info.Entity) == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running[task.Self] = true
	if task.Info.DescriptionId == "FileManager.deleteDatastoreFile" {
		t.deleting[task.Self] = true
	}
}

// UpdateObject implements simulator.RegisterObject: a task ends.
func (t *traffic) UpdateObject(_ *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	task, ok := obj.(*mo.Task)
	if !ok || !ended(changes) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.running[task.Self] {
		return
	}
	delete(t.running, task.Self)
	if delete(t.deleting, task.Self); len(t.deleting) == 0 || len(t.running) == 0 {
		t.tell()
	}
}

// RemoveObject implements simulator.RegisterObject.
func (t *traffic) RemoveObject(*simulator.Context, vc.Ref) {}

// removalID is what vCenter describes the task of a removal as.
const removalID = "ManagedEntity.destroy"
