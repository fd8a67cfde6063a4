package property

import (
	"maps"
	"reflect"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// filter is the state of one PropertyFilter: its selection, what the client has got, and what remains to be delivered. The
// collector's mu guards everything below mu; digests belong to the wait that holds the turn.
type filter struct {
	collector *collector
	ref       types.ManagedObjectReference
	spec      types.PropertyFilterSpec
	partial   bool
	selection *selection
	plans     map[planKey]*plan // used under the turn only

	// mu: collector.mu
	members map[types.ManagedObjectReference]*member
	sources map[types.ManagedObjectReference]struct{}
	// lists is set if a member has a planned list that changes unannounced.
	lists     bool
	fresh     bool // never selected
	selecting bool
	reselect  bool
	recheck   bool // any list may have changed
	// suspects are objects whose lists, or those of linked objects, may have changed without notice.
	suspects map[types.ManagedObjectReference]struct{}
	// again are suspects that were read once: linked objects may change shortly after the note.
	again map[types.ManagedObjectReference]struct{}
	// touched may have entered or left the followed view.
	touched []types.ManagedObjectReference

	missing []types.ManagedObjectReference
	left    []types.ManagedObjectReference
	enters  []types.ManagedObjectReference
	order   []types.ManagedObjectReference // of changes
	changes map[types.ManagedObjectReference]names
}

// names are changed properties; nil means any.
type names []string

// planKey identifies types with separate plans.
type planKey struct {
	t   reflect.Type
	ref string
}

// member is a selected object.
type member struct {
	plan *plan
	// entered is set once the object is delivered, or being read for that: from then on its changes are noted.
	entered bool
	// digests of the values delivered last, by plan entry.
	digests []uint64
	// denied is set once the client has got that it may not read the object.
	denied bool
}

func newFilter(c *collector, ref types.ManagedObjectReference, spec types.PropertyFilterSpec, partial bool, sel *selection) *filter {
	f := &filter{
		collector: c,
		ref:       ref,
		spec:      spec,
		partial:   partial,
		selection: sel,
		plans:     make(map[planKey]*plan),
	}
	f.restart()
	return f
}

// restart drops everything but the spec.
func (f *filter) restart() {
	f.members = make(map[types.ManagedObjectReference]*member)
	f.sources = make(map[types.ManagedObjectReference]struct{})
	f.fresh, f.lists = true, false
	f.missing, f.left = nil, nil
	f.dropNotes()
}

// dropNotes drops the notes that resync restores: all but those of members that left. Members that were not delivered are not
// members.
func (f *filter) dropNotes() {
	f.reselect, f.recheck = false, false
	f.suspects, f.again, f.touched = nil, nil, nil
	f.enters, f.order = nil, nil
	f.changes = make(map[types.ManagedObjectReference]names)
	for ref, m := range f.members {
		if !m.entered {
			delete(f.members, ref)
		}
	}
}

// resync replaces missing notes: it selects again and compares every value.
func (f *filter) resync() {
	if f.fresh {
		return
	}
	f.reselect = true
	for ref, m := range f.members {
		if m.entered {
			f.change(ref, nil)
		}
	}
}

// change notes that properties of a member changed.
func (f *filter) change(ref types.ManagedObjectReference, changed names) {
	old, noted := f.changes[ref]
	if !noted {
		f.order = append(f.order, ref)
		f.changes[ref] = changed
		return
	}
	if old == nil || changed == nil {
		f.changes[ref] = nil
		return
	}
	for _, n := range changed {
		if !slices.Contains(old, n) {
			old = append(old, n)
		}
	}
	f.changes[ref] = old
}

// leave notes that an object is no longer selected.
func (f *filter) leave(ref types.ManagedObjectReference) bool {
	m := f.members[ref]
	if m == nil {
		return false
	}
	delete(f.members, ref)
	if m.entered {
		f.left = append(f.left, ref)
	}
	return m.entered
}

// pending returns the number of remaining notes. Some may have no effect.
func (f *filter) pending() int {
	return len(f.missing) + len(f.left) + len(f.enters) + len(f.order)
}

// PropertyFilter is the managed object of a filter. It never changes; the collector holds what it
// selected is kept in the collector. It is created by CreateFilter.
type PropertyFilter struct { //nolint:revive // as PropertyCollector
	mo.PropertyFilter

	collector *collector
}

// DestroyPropertyFilter removes the filter, with undelivered updates.
func (f *PropertyFilter) DestroyPropertyFilter(ctx *simulator.Context, r *types.DestroyPropertyFilter) soap.HasFault {
	f.collector.removeFilter(f.Self)
	ctx.Session.Remove(ctx, r.This)
	return &methods.DestroyPropertyFilterBody{Res: new(types.DestroyPropertyFilterResponse)}
}

// Lock and Unlock do nothing. An object that brings its own lock gets no entry
// in the registry's table of locks, which vcsim never clears of session objects.
func (f *PropertyFilter) Lock() {}

// Unlock does nothing; see Lock.
func (f *PropertyFilter) Unlock() {}

// PutObject does nothing, as UpdateObject and RemoveObject. With them vcsim takes
// the filter for a listener, and removes it by reference from the registry when
// the session logs out (SessionManager.Logout): that is how the Service learns
// of a logout.
func (f *PropertyFilter) PutObject(*simulator.Context, mo.Reference) {}

// UpdateObject does nothing; see PutObject.
func (f *PropertyFilter) UpdateObject(*simulator.Context, mo.Reference, []types.PropertyChange) {}

// RemoveObject does nothing; see PutObject.
func (f *PropertyFilter) RemoveObject(*simulator.Context, types.ManagedObjectReference) {}

// plan is what a client wants of one type of object.
type plan struct {
	entries []entry
	// lists are the names of entries that vcsim changes without notice.
	lists []string
}

type entry struct {
	path
	// whole marks a property that was not named but comes with "all": it is left out while unset.
	whole bool
}

// newPlan merges the property specs that match a type. It returns nil if none matches: the object is then not reported.
func (s *schema) newPlan(t reflect.Type, refType string, specs []types.PropertySpec) *plan {
	var p *plan
	seen := make(map[string]bool)
	add := func(name string, whole bool) {
		if seen[name] {
			return // rvc and others name a path twice and choke on two answers
		}
		seen[name] = true
		p.entries = append(p.entries, entry{path: parsePath(name), whole: whole})
		if isUnannounced(top(name)) {
			p.lists = append(p.lists, name)
		}
	}
	for _, spec := range specs {
		if !s.isA(t, refType, spec.Type) {
			continue
		}
		if p == nil {
			p = new(plan)
		}
		if spec.All != nil && *spec.All {
			eachProperty(t, func(name string) { add(name, true) })
			continue
		}
		for _, name := range spec.PathSet {
			add(name, false)
		}
	}
	return p
}

// eachProperty iterates over the properties of a managed object type.
func eachProperty(t reflect.Type, f func(name string)) {
	for field := range t.Fields() {
		switch sf := field; {
		case sf.Name == "Self" || !sf.IsExported():
		case sf.Anonymous:
			eachProperty(sf.Type, f)
		default:
			f(propertyName(sf.Name))
		}
	}
}

// asks reports whether a change of the named property may change a planned one.
func (p *plan) asks(name string) bool {
	return slices.ContainsFunc(p.entries, func(e entry) bool { return related(name, e.name) })
}

// isUnannounced reports whether vcsim changes a property as a side effect without an update (Registry.AppendReference,
// AddReference, RemoveReference and their callers).
func isUnannounced(name string) bool {
	switch name {
	case "childEntity", "vm", "host", "datastore", "network", "resourcePool", "parent", "portgroup", "rootSnapshot":
		return true
	}
	return false
}

// content reads all planned properties of a locked object.
func (p *plan) content(s *schema, obj reflect.Value, ref types.ManagedObjectReference) types.ObjectContent {
	c := types.ObjectContent{Obj: ref}
	for i := range p.entries {
		e := &p.entries[i]
		val, r := s.read(obj, &e.path)
		switch {
		case r == invalid:
			if !e.whole {
				c.MissingSet = append(c.MissingSet, invalidProperty(e.name))
			}
		case val == nil && e.whole:
		default:
			c.PropSet = append(c.PropSet, types.DynamicProperty{Name: e.name, Val: val})
		}
	}
	return c
}

func invalidProperty(name string) types.MissingProperty {
	return types.MissingProperty{
		Path:  name,
		Fault: types.LocalizedMethodFault{Fault: &types.InvalidProperty{Name: name}},
	}
}

// refresh updates a filter's members if it was never selected, or if a list that it follows changed. Only the wait that holds the
// turn may call it. It leaves out start objects that were removed since the filter was created.
func (f *filter) refresh(ctx *simulator.Context) {
	f.followLists(ctx)
	mu := &f.collector.mu
	mu.Lock()
	if !f.fresh && !f.reselect {
		mu.Unlock()
		f.followView(ctx)
		return
	}
	first := f.fresh
	f.reselect, f.selecting = false, true
	f.touched = nil // the view is read after this
	mu.Unlock()

	got := f.collector.service.run(ctx, f.selection)
	plans := make(map[types.ManagedObjectReference]*plan)
	for _, ref := range f.newcomers(got.refs) {
		if t, ok := typeOf(ctx, ref); ok {
			plans[ref] = f.plan(planKey{t, ref.Type})
		}
	}

	mu.Lock()
	defer mu.Unlock()
	f.selecting = false
	if first {
		f.fresh = false
		if r := f.spec.ReportMissingObjectsInResults; r != nil && *r {
			f.missing = got.missing
		}
	}
	f.sources = got.sources
	f.adopt(got.refs, plans)
}

// newcomers returns the references that are not members yet.
func (f *filter) newcomers(refs []types.ManagedObjectReference) []types.ManagedObjectReference {
	f.collector.mu.Lock()
	defer f.collector.mu.Unlock()
	var out []types.ManagedObjectReference
	for _, ref := range refs {
		if f.members[ref] == nil {
			out = append(out, ref)
		}
	}
	return out
}

// adopt compares a selection with the members. plans has the plan of each newcomer, unless the filter ignores it.
func (f *filter) adopt(refs []types.ManagedObjectReference, plans map[types.ManagedObjectReference]*plan) {
	now := make(map[types.ManagedObjectReference]struct{}, len(refs))
	for _, ref := range refs {
		if _, gone := f.collector.gone[ref]; gone {
			continue
		}
		now[ref] = struct{}{}
		f.join(ref, plans[ref])
	}
	for ref := range f.members {
		if _, still := now[ref]; !still {
			f.leave(ref)
		}
	}
}

// join makes an object a member, if the filter wants it.
func (f *filter) join(ref types.ManagedObjectReference, p *plan) {
	if _, gone := f.collector.gone[ref]; gone || p == nil || f.members[ref] != nil {
		return
	}
	f.members[ref] = &member{plan: p}
	f.enters = append(f.enters, ref)
	f.lists = f.lists || len(p.lists) != 0
}

// plan returns the filter's plan for a type of object; nil: none.
func (f *filter) plan(k planKey) *plan {
	p, known := f.plans[k]
	if !known {
		p = f.collector.service.schema.newPlan(k.t, k.ref, f.spec.PropSet)
		f.plans[k] = p
	}
	return p
}

// followView updates a filter on a view with the objects that entered or left it. Only the wait that holds the turn may call it.
func (f *filter) followView(ctx *simulator.Context) {
	mu := &f.collector.mu
	mu.Lock()
	touched := f.touched
	f.touched = nil
	mu.Unlock()
	if len(touched) == 0 {
		return
	}
	s := f.collector.service
	view, _ := ctx.Session.Get(f.selection.listed).(holder)
	in := make([]bool, len(touched))
	plans := make(map[types.ManagedObjectReference]*plan)
	for i, ref := range touched {
		if view == nil || !view.holds(ref) || !s.visible(ctx, ref) {
			continue
		}
		in[i] = true
		if t, ok := typeOf(ctx, ref); ok {
			plans[ref] = f.plan(planKey{t, ref.Type})
		}
	}

	mu.Lock()
	defer mu.Unlock()
	for i, ref := range touched {
		if in[i] {
			f.join(ref, plans[ref])
		} else if ref != f.selection.listed {
			f.leave(ref)
		}
	}
}

// followLists notes what vcsim may have changed without notice: lists that are planned, of which reading finds the changed ones,
// and lists that were traversed. Only the wait that holds the turn may call it.
func (f *filter) followLists(ctx *simulator.Context) {
	mu := &f.collector.mu
	mu.Lock()
	suspects, again, all := f.suspects, f.again, f.recheck
	f.suspects, f.recheck = nil, false
	f.again = suspects
	mu.Unlock()
	if all {
		mu.Lock()
		defer mu.Unlock()
		f.reselect = f.reselect || f.selection.unannounced
		for ref := range f.members {
			f.compareLists(ref)
		}
		return
	}
	if len(suspects) == 0 && len(again) == 0 {
		return
	}
	if again != nil {
		maps.Copy(again, suspects)
		suspects = again
	}
	near := f.collector.service.neighbors(ctx, suspects)

	mu.Lock()
	defer mu.Unlock()
	// In a fixed order, so that equal runs give equal answers.
	for _, ref := range slices.SortedFunc(maps.Keys(near), byRef) {
		f.compareLists(ref)
		if _, source := f.sources[ref]; source && f.selection.unannounced {
			f.reselect = true
		}
	}
}

// compareLists notes changes of a member's unannounced lists.
func (f *filter) compareLists(ref types.ManagedObjectReference) {
	if m := f.members[ref]; m != nil && m.entered && len(m.plan.lists) != 0 {
		f.change(ref, m.plan.lists)
	}
}

func byRef(a, b types.ManagedObjectReference) int {
	if a.Value < b.Value {
		return -1
	}
	if a.Value > b.Value {
		return 1
	}
	return 0
}

// startable returns the fault of a filter that cannot start.
func (s *Service) startable(ctx *simulator.Context, sel *selection, spec types.PropertyFilterSpec) types.BaseMethodFault {
	roots := *sel
	roots.roots = slices.Clone(sel.roots)
	for i := range roots.roots {
		roots.roots[i].steps = nil
	}
	got := s.run(ctx, &roots)
	return got.fault([]types.PropertyFilterSpec{spec})
}
