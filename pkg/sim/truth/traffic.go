package truth

import (
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// traffic separates removals from all other work: vcsim's tasks look up hosts, datastores and networks repeatedly, and panic if
// one was removed in between. So a removal waits until no task runs, and calls that would start one wait until it has ended; also
// those that arrive while it waits, or it would never start in a busy vCenter.
//
// Tasks on hosts do not count, because they are safe and may wait for hours for VMs to leave; neither do tasks of extensions and
// those that rules of the gate create.
type traffic struct {
	ref vc.Ref

	removal sync.Mutex // held by one removal at a time

	mu       sync.Mutex
	deleting map[vc.Ref]bool // tasks that delete files: a VM's continue for a short time after its own
	running  map[vc.Ref]bool // tasks, except removals and those that may take long
	changed  chan struct{}   // closed and replaced when no task runs any more or a removal ends
	open     bool            // no removal runs or waits
}

// patience limits the time that a removal waits for tasks.
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

// enter waits while a removal runs, and until the files that are being deleted are gone: a destroyed VM has none. The caller must
// hold no lock of an object.
func (t *traffic) enter() {
	t.await(func() bool { return t.open && len(t.deleting) == 0 }, func() bool { return t.open })
}

// settle waits until the files that are being deleted are gone.
func (t *traffic) settle() {
	t.await(func() bool { return len(t.deleting) == 0 }, func() bool { return true })
}

// await waits for done, for a limited time once bounded returns true: a hanging disk must not block everything. It calls both
// with t.mu held.
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

// alone runs f while no task runs, and reports whether it did.
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
		t.broadcast()
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

// broadcast wakes all waiters. The caller holds t.mu.
func (t *traffic) broadcast() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// Reference implements simulator.RegisterObject.
func (t *traffic) Reference() vc.Ref { return t.ref }

// PutObject implements simulator.RegisterObject: a task starts.
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
		t.broadcast()
	}
}

// RemoveObject implements simulator.RegisterObject.
func (t *traffic) RemoveObject(*simulator.Context, vc.Ref) {}

// removalID is the description ID of a removal's task in vCenter.
const removalID = "ManagedEntity.destroy"
