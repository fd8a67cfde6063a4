package property

import (
	"github.com/vmware/govmomi/vim25/types"
)

// noteChange notes changed properties of an object for the affected filters.
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
		return false // everything will be compared
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

// noteEnter notes a new or replaced object. near is the object and its links.
func (c *collector) noteEnter(ref types.ManagedObjectReference, near []types.ManagedObjectReference, entity bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.gone, ref)
	for _, f := range c.filters {
		if m := f.members[ref]; m != nil && m.entered {
			f.change(ref, nil)
			c.signal()
		}
		if f.selection.startsAt(ref) {
			f.reselect = true
			c.signal()
		}
		if entity && f.suspect(ref, near...) {
			c.signal()
		}
	}
}

// noteMove notes that an object has moved, and what it left.
func (c *collector) noteMove(ref types.ManagedObjectReference, left []types.ManagedObjectReference) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.filters {
		if f.suspect(ref, append(left, ref)...) {
			c.signal()
		}
	}
}

// noteView notes that objects may have entered or left a view.
func (c *collector) noteView(view types.ManagedObjectReference, refs []types.ManagedObjectReference) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.filters {
		if f.noteView(view, refs) {
			c.signal()
		}
	}
}

func (f *filter) noteView(view types.ManagedObjectReference, refs []types.ManagedObjectReference) bool {
	if f.fresh && !f.selecting {
		return false // everything will be compared
	}
	matters := false
	if m := f.members[view]; m != nil && m.entered && m.plan.asks("view") {
		f.change(view, names{"view"})
		matters = true
	}
	if f.selection.listed == view {
		f.touched = append(f.touched, refs...)
		return true
	}
	if _, source := f.sources[view]; source || f.selecting {
		f.reselect = true
		return true
	}
	return matters
}

// noteLeave notes an object that is about to be removed. near are its links.
func (c *collector) noteLeave(ref types.ManagedObjectReference, near []types.ManagedObjectReference, entity bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.filters {
		_, source := f.sources[ref]
		if f.leave(ref) {
			c.signal()
		}
		if source || f.selecting {
			f.reselect = true
			c.signal()
		}
		if entity && f.suspect(ref, near...) {
			c.signal()
		}
	}
	if len(c.filters) == 0 {
		return
	}
	c.gone[ref] = struct{}{}
	if len(c.gone) > maxGone {
		c.dropGone()
	}
}

// maxGone is the number of removed objects that a collector remembers before it checks which are really gone. Only few are not:
// objects are removed shortly after the note.
const maxGone = 256

// dropGone forgets the removed objects that cannot be found any more.
func (c *collector) dropGone() {
	for ref := range c.gone {
		if c.service.registry.Get(ref) == nil {
			delete(c.gone, ref)
		}
	}
}
