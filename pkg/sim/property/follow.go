package property

import (
	"maps"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

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
