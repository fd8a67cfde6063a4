package rest

import (
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// watch follows the registry: which objects there are, and what they are called, for events. vcsim calls it with the object
// locked, so it calls nobody but the store.
type watch struct {
	registry *simulator.Registry
	store    *store

	mu    sync.RWMutex
	names map[vc.Ref]string
}

var _ simulator.RegisterObject = (*watch)(nil)

func newWatch(registry *simulator.Registry, s *store) *watch {
	w := &watch{registry: registry, store: s, names: make(map[vc.Ref]string)}
	registry.AddHandler(w)
	for _, e := range registry.All("") {
		w.put(e)
	}
	return w
}

func (w *watch) close() { w.registry.RemoveHandler(w) }

// Reference implements mo.Reference: the key under which the registry keeps us.
func (w *watch) Reference() vc.Ref { return vc.Ref{Type: "SandboxTagging", Value: "SandboxTagging"} }

// PutObject implements simulator.RegisterObject.
func (w *watch) PutObject(_ *simulator.Context, obj mo.Reference) {
	if e, ok := obj.(mo.Entity); ok {
		w.put(e)
	}
}

func (w *watch) put(e mo.Entity) {
	ref, name := e.Reference(), e.Entity().Name
	if !inventory(ref) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names[plain(ref)] = name
}

// UpdateObject implements simulator.RegisterObject.
func (w *watch) UpdateObject(_ *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	for _, c := range changes {
		name, ok := c.Val.(string)
		if c.Name != "name" || !ok {
			continue
		}
		if ref := plain(obj.Reference()); inventory(ref) {
			w.mu.Lock()
			w.names[ref] = name
			w.mu.Unlock()
		}
	}
}

// RemoveObject implements simulator.RegisterObject: what is destroyed has no tags.
func (w *watch) RemoveObject(_ *simulator.Context, ref vc.Ref) {
	ref = plain(ref)
	w.mu.Lock()
	delete(w.names, ref)
	w.mu.Unlock()
	w.store.drop(ref) // afterwards: who attaches a tag looks for the object again when it is done
}

// has tells whether the object is there. The registry itself still has one that is being removed.
func (w *watch) has(ref vc.Ref) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	_, ok := w.names[ref]
	return ok
}

func (w *watch) name(ref vc.Ref) string {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if name := w.names[ref]; name != "" {
		return name
	}
	return ref.Value
}
