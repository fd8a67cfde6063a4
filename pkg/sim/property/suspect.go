package property

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// effects are what a task may have changed without notice.
type effects struct {
	// on are the objects of the task.
	on []types.ManagedObjectReference
	// moves is set if hosts may have changed their parent.
	moves bool
}

// sideEffects checks changed properties of a locked object: it reports whether a task has ended during which vcsim may have
// changed lists.
func sideEffects(obj mo.Reference, changes []types.PropertyChange) (bool, effects) {
	task, ok := obj.(*mo.Task)
	if !ok || task.Info.Entity == nil || !slices.ContainsFunc(changes, func(ch types.PropertyChange) bool {
		return ch.Name == "info.state" &&
			(ch.Val == types.TaskInfoStateSuccess || ch.Val == types.TaskInfoStateError)
	}) {
		return false, effects{}
	}
	if _, entity := mo.Value(*task.Info.Entity); !entity {
		return false, effects{} // such as the deletion of files after each VM's
	}
	e := effects{on: []types.ManagedObjectReference{*task.Info.Entity}}
	if made, ok := task.Info.Result.(types.ManagedObjectReference); ok {
		e.on = append(e.on, made)
	}
	switch task.Info.Entity.Type {
	case "VirtualMachine":
		switch task.Info.DescriptionId {
		case "VirtualMachine.powerOn", "VirtualMachine.powerOff", "VirtualMachine.reset", "VirtualMachine.suspend":
			return false, effects{} // these change no lists
		}
	case "ComputeResource", "ClusterComputeResource":
		e.moves = true
	}
	return true, e
}

// noteSideEffects notes the end of a task. Its objects are compared as a whole: vcsim does not report all changes of a
// reconfiguration.
func (c *collector) noteSideEffects(e effects) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.filters {
		for _, ref := range e.on {
			if m := f.members[ref]; m != nil && m.entered {
				f.change(ref, nil)
				c.signal()
			}
		}
		if f.suspect(e.on[0], e.on...) || e.moves && f.selection.listed.Value != "" {
			c.signal()
		}
	}
}

// suspect notes an event of an entity, and which objects may have changed their lists. These are known for VMs and folders; for
// others, which are few, all are checked. It reports whether the filter is affected.
func (f *filter) suspect(entity types.ManagedObjectReference, refs ...types.ManagedObjectReference) bool {
	if !f.lists && !f.selection.unannounced {
		return false
	}
	if entity.Type != "VirtualMachine" && entity.Type != "Folder" {
		f.recheck = true
		return true
	}
	if f.suspects == nil {
		f.suspects = make(map[types.ManagedObjectReference]struct{})
	}
	for _, ref := range refs {
		f.suspects[ref] = struct{}{}
	}
	return true
}

// neighbors returns the suspects and their current links.
func (s *Service) neighbors(ctx *simulator.Context, suspects map[types.ManagedObjectReference]struct{}) map[types.ManagedObjectReference]struct{} {
	all := make(map[types.ManagedObjectReference]struct{}, 4*len(suspects))
	for ref := range suspects {
		all[ref] = struct{}{}
		obj := ctx.Map.Get(ref)
		if obj == nil {
			continue // its neighbors are suspects themselves
		}
		s.newborns.await(ctx, ref)
		var l links
		ctx.WithLock(obj, func() { l, _ = linksOf(obj) })
		for _, near := range l.all() {
			all[near] = struct{}{}
		}
	}
	return all
}
