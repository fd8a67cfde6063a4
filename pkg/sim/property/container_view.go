package property

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// ContainerView is a view of the entities below one: of the types asked for,
// at any depth or directly below only. It is current at any moment, and lists
// only what its session may see. It is created by CreateContainerView.
type ContainerView struct {
	shown mo.ContainerView // without the list; first, for moType
	viewBase
	kinds map[string]struct{} // nil is every type
	// content is guarded by the tree.
	content refSet
}

func (v *ContainerView) includes(kind string) bool {
	if v.kinds == nil {
		return true
	}
	_, ok := v.kinds[kind]
	return ok
}

func (v *ContainerView) holds(ref types.ManagedObjectReference) bool {
	v.service.tree.mu.Lock()
	defer v.service.tree.mu.Unlock()
	return v.content.has(ref)
}

func (v *ContainerView) drop() { v.service.tree.unwatch(v) }

// managedObject is the view as a client reads it.
func (v *ContainerView) managedObject(ctx *simulator.Context) mo.Reference {
	t := v.service.tree
	v.service.heal(ctx)
	shown := v.shown
	shown.Self = v.Self
	t.mu.Lock()
	shown.View = v.content.copy()
	t.mu.Unlock()
	shown.View = v.service.onlyVisible(ctx, shown.View)
	return &shown
}

// DestroyView frees the view. What a filter selected by it leaves.
func (v *ContainerView) DestroyView(ctx *simulator.Context, _ *types.DestroyView) soap.HasFault {
	v.service.destroyView(ctx, v)
	return &methods.DestroyViewBody{Res: new(types.DestroyViewResponse)}
}

// CreateContainerView makes a view of what is below an entity.
func (m *ViewManager) CreateContainerView(ctx *simulator.Context, r *types.CreateContainerView) soap.HasFault {
	body := new(methods.CreateContainerViewBody)
	s := m.service
	if !s.tree.entity(r.Container) {
		if ctx.Map.Get(r.Container) != nil {
			body.Fault_ = soapFault(&types.InvalidArgument{InvalidProperty: "container"})
		} else {
			body.Fault_ = soapFault(&types.ManagedObjectNotFound{Obj: r.Container})
		}
		return body
	}
	if !s.visible(ctx, r.Container) {
		body.Fault_ = soapFault(notVisible(r.Container))
		return body
	}
	if !isContainer(r.Container.Type) {
		body.Fault_ = soapFault(&types.InvalidArgument{InvalidProperty: "container"})
		return body
	}
	kinds, ok := s.schema.entityKinds(r.Type)
	if !ok {
		body.Fault_ = soapFault(&types.InvalidArgument{InvalidProperty: "type"})
		return body
	}
	v := &ContainerView{kinds: kinds}
	v.viewBase = viewBase{service: s, session: ctx.Session.Registry, key: ctx.Session.Key}
	v.shown.Container, v.shown.Type, v.shown.Recursive = r.Container, r.Type, r.Recursive
	ctx.Session.Put(v)
	s.heal(ctx)
	s.tree.watch(v)
	s.addView(v, ctx.Session)

	body.Res = &types.CreateContainerViewResponse{Returnval: v.Self}
	return body
}
