package property

import (
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// ListView is a view of whatever its session puts on it. Filters may wait on it
// while it is changed: it holds no lock while they are told. It is created by
// CreateListView.
type ListView struct {
	shown mo.ListView // empty; for moType
	viewBase

	mu      sync.Mutex
	content refSet
}

func (v *ListView) holds(ref types.ManagedObjectReference) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.content.has(ref)
}

func (v *ListView) drop() {}

// managedObject is the view as a client reads it.
func (v *ListView) managedObject(ctx *simulator.Context) mo.Reference {
	shown := v.shown
	shown.Self = v.Self
	v.mu.Lock()
	shown.View = v.content.copy()
	v.mu.Unlock()
	shown.View = v.service.onlyVisible(ctx, shown.View)
	return &shown
}

// CreateListView makes a view of the given objects. All of them must exist.
func (m *ViewManager) CreateListView(ctx *simulator.Context, r *types.CreateListView) soap.HasFault {
	body := new(methods.CreateListViewBody)
	v := new(ListView)
	v.viewBase = viewBase{service: m.service, session: ctx.Session.Registry, key: ctx.Session.Key}
	if _, unresolved := v.change(ctx, r.Obj, nil); len(unresolved) != 0 {
		body.Fault_ = soapFault(&types.ManagedObjectNotFound{Obj: unresolved[0]})
		return body
	}
	ctx.Session.Put(v)
	m.service.addView(v, ctx.Session)
	body.Res = &types.CreateListViewResponse{Returnval: v.Self}
	return body
}

// ModifyListView adds objects and removes others. It answers those that do not
// exist.
func (v *ListView) ModifyListView(ctx *simulator.Context, r *types.ModifyListView) soap.HasFault {
	changed, unresolved := v.change(ctx, r.Add, r.Remove)
	v.tell(changed)
	return &methods.ModifyListViewBody{Res: &types.ModifyListViewResponse{Returnval: unresolved}}
}

// ResetListView puts the given objects on the list and nothing else. It answers
// those that do not exist.
func (v *ListView) ResetListView(ctx *simulator.Context, r *types.ResetListView) soap.HasFault {
	unresolved := v.reset(ctx, r.Obj)
	return &methods.ResetListViewBody{Res: &types.ResetListViewResponse{Returnval: unresolved}}
}

// ResetListViewFromView puts on the list what is in another view.
func (v *ListView) ResetListViewFromView(ctx *simulator.Context, r *types.ResetListViewFromView) soap.HasFault {
	body := new(methods.ResetListViewFromViewBody)
	other, ok := ctx.Session.Get(r.View).(sessionView)
	if !ok {
		body.Fault_ = soapFault(&types.ManagedObjectNotFound{Obj: r.View})
		return body
	}
	var refs []types.ManagedObjectReference
	switch o := other.managedObject(ctx).(type) {
	case *mo.ContainerView:
		refs = o.View
	case *mo.ListView:
		refs = o.View
	default:
		body.Fault_ = soapFault(&types.InvalidArgument{InvalidProperty: "view"})
		return body
	}
	v.reset(ctx, refs)
	body.Res = new(types.ResetListViewFromViewResponse)
	return body
}

// CreateListViewFromView makes a list view of what is in another view.
func (m *ViewManager) CreateListViewFromView(ctx *simulator.Context, r *types.CreateListViewFromView) soap.HasFault {
	body := new(methods.CreateListViewFromViewBody)
	made := m.CreateListView(ctx, new(types.CreateListView)).(*methods.CreateListViewBody)
	v := ctx.Session.Get(made.Res.Returnval).(*ListView)
	if fault := v.ResetListViewFromView(ctx, &types.ResetListViewFromView{View: r.View}).Fault(); fault != nil {
		m.service.destroyView(ctx, v)
		body.Fault_ = fault
		return body
	}
	body.Res = &types.CreateListViewFromViewResponse{Returnval: v.Self}
	return body
}

// DestroyView frees the view. What a filter selected by it leaves.
func (v *ListView) DestroyView(ctx *simulator.Context, _ *types.DestroyView) soap.HasFault {
	v.service.destroyView(ctx, v)
	return &methods.DestroyViewBody{Res: new(types.DestroyViewResponse)}
}

func (v *ListView) reset(ctx *simulator.Context, refs []types.ManagedObjectReference) []types.ManagedObjectReference {
	v.mu.Lock()
	old := v.content
	v.content = refSet{}
	v.mu.Unlock()
	changed, unresolved := v.change(ctx, refs, nil)
	v.tell(append(changed, old.list...))
	return unresolved
}

func (v *ListView) change(ctx *simulator.Context, add, remove []types.ManagedObjectReference) (changed, unresolved []types.ManagedObjectReference) {
	for _, ref := range add {
		if ctx.Session.Get(ref) == nil || !v.service.visible(ctx, ref) {
			unresolved = append(unresolved, ref)
			continue
		}
		v.mu.Lock()
		if v.content.add(ref) {
			changed = append(changed, ref)
		}
		v.mu.Unlock()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, ref := range remove {
		if v.content.remove(ref) {
			changed = append(changed, ref)
		}
	}
	return changed, unresolved
}

func (v *ListView) tell(changed []types.ManagedObjectReference) {
	if len(changed) != 0 {
		v.service.tellView(v.session, v.Self, changed)
	}
}
