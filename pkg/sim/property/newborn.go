package property

import (
	"context"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// maxNewborns limits the number of remembered new objects. Older ones are complete: vcsim creates the children of one object in
// sequence.
const maxNewborns = 1024

// newborns are entities that were registered and not read since. vcsim continues writing to a new object without its lock
// (simulator/folder.go, createVM.Run), but with its parent's, which the creating task holds to its end. So the first reader of a
// new object takes the parent's lock, and then finds the object complete.
type newborns struct {
	mu      sync.Mutex
	parents map[types.ManagedObjectReference]types.ManagedObjectReference
	order   []types.ManagedObjectReference
}

// put records a new object.
func (n *newborns) put(obj mo.Reference) {
	e, ok := obj.(mo.Entity)
	if !ok || e.Entity().Parent == nil {
		return
	}
	ref := obj.Reference()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.parents == nil {
		n.parents = make(map[types.ManagedObjectReference]types.ManagedObjectReference)
	}
	if _, known := n.parents[ref]; !known {
		n.order = append(n.order, ref)
	}
	n.parents[ref] = *e.Entity().Parent
	if len(n.order) > 2*maxNewborns { // it still has those that were read
		for _, old := range n.order[:maxNewborns] {
			delete(n.parents, old)
		}
		n.order = append([]types.ManagedObjectReference(nil), n.order[maxNewborns:]...)
	}
}

// await returns when the object is complete. The caller must hold no lock of an object.
func (n *newborns) await(ctx *simulator.Context, ref types.ManagedObjectReference) {
	n.mu.Lock()
	parent, young := n.parents[ref]
	n.mu.Unlock()
	if !young {
		return
	}
	if obj := ctx.Map.Get(parent); obj != nil {
		ctx.Map.AcquireLock(ctx, obj)()
	}
	n.mu.Lock()
	delete(n.parents, ref)
	n.mu.Unlock()
}

// adoptInMemorySession puts this collector into the session of vcsim's in-memory client (Service.RoundTrip). That session is
// shared by the whole process and keeps its first collector, which is vcsim's as soon as a Model was created. It is reachable
// through the registry's call hook only, so this makes one harmless call under a temporary hook.
//
// The collector finds its Service through the context of each call, and passes the call to vcsim's without one: it serves every
// vCenter of the process.
func adoptInMemorySession(ctx *simulator.Context, ref types.ManagedObjectReference) error {
	adopt := func(s *simulator.Session) {
		if s == nil || s.Registry == nil {
			return
		}
		if _, ours := s.Registry.Get(ref).(*PropertyCollector); ours {
			return
		}
		pc := new(PropertyCollector)
		pc.Self = ref
		s.Registry.Put(pc)
	}
	adopt(ctx.Session)

	service := simulator.ServiceFromContext(ctx)
	if service == nil {
		return nil
	}
	hook := ctx.Map.Handler
	defer func() { ctx.Map.Handler = hook }()
	ctx.Map.Handler = func(call *simulator.Context, _ *simulator.Method) (mo.Reference, types.BaseMethodFault) {
		adopt(call.Session)
		return nil, nil
	}
	_, err := methods.CurrentTime(context.Background(), service, &types.CurrentTime{This: vim25.ServiceInstance})
	return err
}
