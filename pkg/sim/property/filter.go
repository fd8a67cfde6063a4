package property

import (
	"reflect"
	"slices"

	"github.com/vmware/govmomi/vim25/types"
)

// filter is the state of one PropertyFilter: what it selected, what the client
// was told, and what is to be told. Everything below mu is guarded by the
// collector's mu; digests belong to the wait that holds the turn.
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
	// lists says that a member is asked for a list that changes unannounced.
	lists     bool
	fresh     bool // never selected
	selecting bool
	reselect  bool
	recheck   bool // any list may have changed
	// suspects are objects whose lists, and those of the objects they are
	// linked to, may have changed without notice.
	suspects map[types.ManagedObjectReference]struct{}
	// again are suspects that were looked at once: what they are linked to may
	// have been changed a moment after it was noted.
	again map[types.ManagedObjectReference]struct{}
	// touched may have come into the view that is followed, or left it.
	touched []types.ManagedObjectReference

	missing []types.ManagedObjectReference
	left    []types.ManagedObjectReference
	enters  []types.ManagedObjectReference
	order   []types.ManagedObjectReference // of changes
	changes map[types.ManagedObjectReference]names
}

// names are changed properties; nil means any.
type names []string

// planKey tells types apart that need plans of their own.
type planKey struct {
	t   reflect.Type
	ref string
}

// member is a selected object.
type member struct {
	plan *plan
	// entered says that the object was handed to the client, or is being read
	// for that: from then on its changes are noted.
	entered bool
	// digests of the values delivered last, by plan entry.
	digests []uint64
	// denied says that the client was told it may not read the object.
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

// restart forgets everything but the spec.
func (f *filter) restart() {
	f.members = make(map[types.ManagedObjectReference]*member)
	f.sources = make(map[types.ManagedObjectReference]struct{})
	f.fresh, f.lists = true, false
	f.missing, f.left = nil, nil
	f.dropNotes()
}

// dropNotes forgets what resync finds again: not that members left. Members
// that were not handed over yet are not members.
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

// resync makes up for notes that were not taken: it selects anew and compares
// every value.
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

// pending counts the notes that are left. Some may come to nothing.
func (f *filter) pending() int {
	return len(f.missing) + len(f.left) + len(f.enters) + len(f.order)
}
