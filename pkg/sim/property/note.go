package property

import (
	"github.com/vmware/govmomi/vim25/types"
)

// noteChange notes changed properties of an object where they matter.
func (c *collector) noteChange(ref types.ManagedObjectReference, changes []types.PropertyChange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.filters {
		if f.noteChange(ref, changes) {
			c.signal()
		}
	}
}

func (f *filter) noteChange(ref types.ManagedObjectReference, changes []types.PropertyChange) bool {
	if f.fresh && !f.selecting {
		return false // everything is yet to be looked at
	}
	matters := false
	if m := f.members[ref]; m != nil && m.entered {
		var changed names
		for i := range changes {
			if m.plan.asks(changes[i].Name) {
				changed = append(changed, changes[i].Name)
			}
		}
		if len(changed) != 0 {
			f.change(ref, changed)
			matters = true
		}
	}
	if _, source := f.sources[ref]; source || f.selecting {
		for i := range changes {
			if f.selection.traverses(changes[i].Name) {
				f.reselect = true
				return true
			}
		}
	}
	return matters
}

// noteEnter notes a new object, or one that was put in place of another.
func (c *collector) noteEnter(ref types.ManagedObjectReference, entity bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.gone, ref)
	for _, f := range c.filters {
		if m := f.members[ref]; m != nil && m.entered {
			f.change(ref, nil)
			c.signal()
		}
		if f.selection.startsAt(ref) || entity && f.selection.unannounced {
			f.reselect = true
			c.signal()
		}
		if entity && f.lists {
			f.recheck = true
			c.signal()
		}
	}
}

// noteLeave notes an object that is about to be removed.
func (c *collector) noteLeave(ref types.ManagedObjectReference, entity bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.filters {
		_, source := f.sources[ref]
		if f.leave(ref) {
			c.signal()
		}
		if source || f.selecting || entity && f.selection.unannounced {
			f.reselect = true
			c.signal()
		}
		if entity && f.lists {
			f.recheck = true
			c.signal()
		}
	}
	if len(c.filters) == 0 {
		return
	}
	c.gone[ref] = struct{}{}
	if len(c.gone) > maxGone {
		c.buryGone()
	}
}

// maxGone is how many removed objects a collector remembers before it looks
// which of them are really gone. Those that are not are few: objects are
// removed a moment after it is noted.
const maxGone = 256

// buryGone forgets the removed objects that cannot be found any more.
func (c *collector) buryGone() {
	for ref := range c.gone {
		if c.service.registry.Get(ref) == nil {
			delete(c.gone, ref)
		}
	}
}

// noteSideEffects notes that a task completed: vcsim changes lists without
// notice in the course of tasks.
func (c *collector) noteSideEffects() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.filters {
		if f.selection.unannounced {
			f.reselect = true
			c.signal()
		}
		if f.lists {
			f.recheck = true
			c.signal()
		}
	}
}
