package property

import (
	"reflect"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
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

// take converts notes to updates, at most limit of them: first what left, then what entered, then what changed. Values are read
// now, one object at a time, so that several changes of a property become one. Only the wait that holds the turn may call it.
func (f *filter) take(ctx *simulator.Context, limit int) types.PropertyFilterUpdate {
	out := types.PropertyFilterUpdate{Filter: f.ref}
	mu := &f.collector.mu

	mu.Lock()
	for _, ref := range f.missing {
		out.MissingSet = append(out.MissingSet, types.MissingObject{
			Obj:   ref,
			Fault: types.LocalizedMethodFault{Fault: &types.ManagedObjectNotFound{Obj: ref}},
		})
	}
	f.missing = nil
	n := min(limit, len(f.left))
	for _, ref := range f.left[:n] {
		out.ObjectSet = append(out.ObjectSet, types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: ref})
	}
	f.left = slices.Delete(f.left, 0, n)
	// Notes from here on wait for the next answer: a steady stream of changes must not delay this one.
	rounds := len(f.enters) + len(f.order)
	mu.Unlock()

	for ; rounds > 0 && len(out.ObjectSet) < limit; rounds-- {
		if u, ok := f.one(ctx); ok {
			out.ObjectSet = append(out.ObjectSet, u)
		}
	}
	return out
}

// one converts a note to an update. It returns false if the object is gone, or if the client has the values.
func (f *filter) one(ctx *simulator.Context) (types.ObjectUpdate, bool) {
	mu := &f.collector.mu
	mu.Lock()
	if len(f.enters) != 0 {
		ref := f.enters[0]
		f.enters = f.enters[1:]
		m := f.members[ref]
		if m == nil || m.entered {
			mu.Unlock()
			return types.ObjectUpdate{}, false
		}
		m.entered = true // changes from here on are noted, and compare equal if they were read
		mu.Unlock()
		return f.enter(ctx, ref, m)
	}
	if len(f.order) == 0 {
		mu.Unlock()
		return types.ObjectUpdate{}, false
	}
	ref := f.order[0]
	f.order = f.order[1:]
	changed := f.changes[ref]
	delete(f.changes, ref)
	m := f.members[ref]
	mu.Unlock()
	if m == nil || !m.entered {
		return types.ObjectUpdate{}, false
	}
	return f.modify(ctx, ref, m, changed)
}

// enter reads all planned properties of an object.
func (f *filter) enter(ctx *simulator.Context, ref types.ManagedObjectReference, m *member) (types.ObjectUpdate, bool) {
	s := f.collector.service.schema
	var content types.ObjectContent
	m.denied = !f.collector.service.readable(ctx, ref)
	if m.denied {
		m.digests = make([]uint64, len(m.plan.entries))
		return types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: ref, MissingSet: m.plan.denied(ref)}, true
	}
	if !f.collector.service.withObject(ctx, ref, func(obj reflect.Value) { content = m.plan.content(s, obj, ref) }) {
		f.expel(ref, m)
		return types.ObjectUpdate{}, false
	}
	u := types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: ref, MissingSet: content.MissingSet}
	m.digests = make([]uint64, len(m.plan.entries))
	props := content.PropSet
	for i := range m.plan.entries {
		if len(props) == 0 || props[0].Name != m.plan.entries[i].name {
			continue // unset or invalid
		}
		m.digests[i] = s.digest(props[0].Val)
		u.ChangeSet = append(u.ChangeSet, assign(props[0].Name, props[0].Val))
		props = props[1:]
	}
	return u, true
}

// expel drops a member that was removed before its delivery, without an update.
func (f *filter) expel(ref types.ManagedObjectReference, m *member) {
	f.collector.mu.Lock()
	defer f.collector.mu.Unlock()
	if f.members[ref] == m {
		delete(f.members, ref)
	} else if i := slices.Index(f.left, ref); i >= 0 {
		f.left = slices.Delete(f.left, i, i+1)
	}
}

// modify reads what may have changed of an object and returns what did.
func (f *filter) modify(ctx *simulator.Context, ref types.ManagedObjectReference, m *member, changed names) (types.ObjectUpdate, bool) {
	s := f.collector.service.schema
	u := types.ObjectUpdate{Kind: types.ObjectUpdateKindModify, Obj: ref}
	if readable := f.collector.service.readable(ctx, ref); !readable {
		if m.denied {
			return u, false
		}
		m.denied = true
		clear(m.digests)
		u.MissingSet = m.plan.denied(ref)
		return u, len(u.MissingSet) != 0
	} else if m.denied {
		m.denied, changed = false, nil
	}
	f.collector.service.withObject(ctx, ref, func(obj reflect.Value) {
		for i := range m.plan.entries {
			e := &m.plan.entries[i]
			if changed != nil && !e.touched(changed) {
				continue
			}
			val, r := s.read(obj, &e.path)
			digest := s.digest(val)
			if r == invalid || digest == m.digests[i] {
				continue
			}
			m.digests[i] = digest
			if parts := e.parts(changed); f.partial && val != nil && parts != nil {
				u.ChangeSet = append(u.ChangeSet, s.readParts(obj, parts)...)
				continue
			}
			u.ChangeSet = append(u.ChangeSet, assign(e.name, val))
		}
	})
	return u, len(u.ChangeSet) != 0
}

func assign(name string, val any) types.PropertyChange {
	return types.PropertyChange{Name: name, Op: types.PropertyChangeOpAssign, Val: val}
}

func (e *entry) touched(changed names) bool {
	return slices.ContainsFunc(changed, func(n string) bool { return related(n, e.name) })
}

// parts returns the changed properties below the entry, sorted, for a client with partial updates. It returns nil if the whole
// entry must be delivered.
func (e *entry) parts(changed names) []string {
	var parts []string
	for _, n := range changed {
		switch {
		case n == e.name || !related(n, e.name):
			if n == e.name {
				return nil
			}
		case within(n, e.name):
			parts = append(parts, n)
		default:
			return nil // more than the entry changed
		}
	}
	slices.Sort(parts)
	return parts
}

func (s *schema) readParts(obj reflect.Value, parts []string) []types.PropertyChange {
	var out []types.PropertyChange
	for i, name := range parts {
		if i > 0 && within(name, parts[i-1]) {
			continue // covered by the part above it
		}
		p := parsePath(name)
		val, _ := s.read(obj, &p)
		out = append(out, assign(name, val))
	}
	return out
}
