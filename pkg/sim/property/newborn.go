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

// maxNewborns bounds how many new objects are remembered. Those beyond have
// been finished for long: vcsim makes the children of one object in sequence.
const maxNewborns = 1024

// newborns are entities that were put into the inventory and not read since.
// vcsim continues writing to a new object without its lock (simulator/folder.go,
// createVM.Run), but with its parent's: the task that makes it holds that to
// its end. So the first who reads a new object passes through the parent's
// lock, and then finds it finished.
type newborns struct {
	mu      sync.Mutex
	parents map[types.ManagedObjectReference]types.ManagedObjectReference
	order   []types.ManagedObjectReference
}

// put remembers an object that is being made.
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
	if len(n.order) > 2*maxNewborns { // read ones are in it, too
		for _, old := range n.order[:maxNewborns] {
			delete(n.parents, old)
		}
		n.order = append([]types.ManagedObjectReference(nil), n.order[maxNewborns:]...)
	}
}

// await returns when the object is made. It must be called with no object
// locked.
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

// adoptInMemorySession puts our collector into the session of vcsim's in-memory
// client (Service.RoundTrip). That session is one for the whole process and
// keeps the first collector it ever saw, which is vcsim's own as soon as a
// Model was created. It is reachable through the registry's call hook only, so
// one harmless call is made under a hook of ours.
//
// The collector put there finds its Service through the context of each call,
// and hands the call to vcsim's own where there is none: it serves every
// vCenter of the process, ours or not.
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
