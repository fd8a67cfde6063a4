package property

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// visible says whether the session of a call may know of an object. Nothing of
// the inventory is locked when it is asked.
func (s *Service) visible(ctx *simulator.Context, ref types.ManagedObjectReference) bool {
	return s.options.Visible == nil || s.options.Visible(ctx, ref)
}

func (s *Service) readable(ctx *simulator.Context, ref types.ManagedObjectReference) bool {
	return s.options.Readable == nil || s.options.Readable(ctx, ref)
}

// onlyVisible leaves out what the session may not know of. It reuses the list.
func (s *Service) onlyVisible(ctx *simulator.Context, refs []types.ManagedObjectReference) []types.ManagedObjectReference {
	if s.options.Visible == nil {
		return refs
	}
	kept := refs[:0]
	for _, ref := range refs {
		if s.visible(ctx, ref) {
			kept = append(kept, ref)
		}
	}
	return kept
}

// Recheck makes every filter compare everything with what it delivered: objects
// that became visible enter, others leave, and what became readable is told.
// Call it when permissions changed.
func (s *Service) Recheck() {
	s.each(func(c *collector) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, f := range c.filters {
			f.resync()
			f.reselect = f.reselect || f.selecting
		}
		c.signal()
	})
}

// notVisible is the fault for an object that is named and may not be seen.
func notVisible(ref types.ManagedObjectReference) *types.NoPermission {
	return &types.NoPermission{Object: &ref, PrivilegeId: "System.View"}
}

// denied reports properties that may not be read.
func (p *plan) denied(ref types.ManagedObjectReference) []types.MissingProperty {
	var missing []types.MissingProperty
	for i := range p.entries {
		if p.entries[i].valid {
			missing = append(missing, types.MissingProperty{
				Path:  p.entries[i].name,
				Fault: types.LocalizedMethodFault{Fault: &types.NoPermission{Object: &ref, PrivilegeId: "System.Read"}},
			})
		}
	}
	return missing
}
