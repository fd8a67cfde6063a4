package property

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

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
