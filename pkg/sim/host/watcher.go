package host

import (
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// watcher wakes those who wait for VMs to leave a host, and for their task to be canceled. vcsim calls it with the
// changing object locked, so it does no more than that.
type watcher struct {
	ref    vc.Ref
	adopt  func(mo.Reference)
	forget func(vc.Ref)

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each change; nil while nobody waits
}

func newWatcher(adopt func(mo.Reference), forget func(vc.Ref)) *watcher {
	return &watcher{ref: vc.Ref{Type: "SandboxHostWatcher", Value: "sandbox-host-watcher"}, adopt: adopt, forget: forget}
}

// next returns a channel that is closed at the next change.
func (w *watcher) next() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed == nil {
		w.changed = make(chan struct{})
	}
	return w.changed
}

func (w *watcher) shout() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

// Reference implements simulator.RegisterObject.
func (w *watcher) Reference() vc.Ref { return w.ref }

// PutObject implements simulator.RegisterObject.
func (w *watcher) PutObject(_ *simulator.Context, obj mo.Reference) {
	// vcsim puts a standalone host as disconnected and connects it after that, without an update: it is taken on later.
	if host, ok := obj.(*simulator.HostSystem); ok && host.Parent != nil && host.Parent.Type == "ClusterComputeResource" {
		w.adopt(host)
	}
}

// RemoveObject implements simulator.RegisterObject.
func (w *watcher) RemoveObject(_ *simulator.Context, ref vc.Ref) {
	switch ref.Type {
	case "VirtualMachine", "HostSystem", "Datastore":
		w.forget(ref)
		w.shout()
	}
}

// UpdateObject implements simulator.RegisterObject.
func (w *watcher) UpdateObject(_ *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	switch obj.(type) {
	case *mo.VirtualMachine, *mo.Task, *mo.Datastore:
	default:
		return
	}
	for _, c := range changes {
		switch c.Name {
		case "runtime.host", "runtime.powerState", "info.cancelled", "summary.accessible":
			w.shout()
			return
		}
	}
}
