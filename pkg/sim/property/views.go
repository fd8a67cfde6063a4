package property

import (
	"reflect"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// holder is a view: an object with a changing list of others.
type holder interface {
	mo.Reference
	// holds reports whether the object is on the list.
	holds(types.ManagedObjectReference) bool
	// drop frees the view.
	drop()
}

// viewBase is the common part of the views.
type viewBase struct {
	// Self is the field that vcsim reads the reference from.
	Self types.ManagedObjectReference

	service *Service
	// session is the registry of the view.
	session *simulator.Registry
	// key is the key of the session.
	key string
}

// Reference returns the reference of the view.
func (v *viewBase) Reference() types.ManagedObjectReference { return v.Self }

// Lock and Unlock do nothing: the views lock their state, and are not locked while filters are updated.
func (v *viewBase) Lock() {}

// Unlock does nothing; see Lock.
func (v *viewBase) Unlock() {}

// PutObject, UpdateObject and RemoveObject do nothing. With them vcsim treats the view as a listener, and removes it from the
// registry by reference when the session logs out (SessionManager.Logout): that is how the Service learns of a logout.
func (v *viewBase) PutObject(*simulator.Context, mo.Reference) {}

// UpdateObject does nothing; see PutObject.
func (v *viewBase) UpdateObject(*simulator.Context, mo.Reference, []types.PropertyChange) {}

// RemoveObject does nothing; see PutObject.
func (v *viewBase) RemoveObject(*simulator.Context, types.ManagedObjectReference) {}

// addView remembers a view until it is destroyed or its session ends.
func (s *Service) addView(v holder, session *simulator.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.views[viewKey{session.Registry, v.Reference()}] = viewOf{v, session.UserSession}
}

type viewKey struct {
	session *simulator.Registry
	ref     types.ManagedObjectReference
}

type viewOf struct {
	holder
	session types.UserSession
}

// dropViews frees the views for which dead returns true.
func (s *Service) dropViews(dead func(viewKey, viewOf) bool) {
	var drop []viewOf
	s.mu.Lock()
	for k, v := range s.views {
		if dead(k, v) {
			drop = append(drop, v)
			delete(s.views, k)
		}
	}
	s.mu.Unlock()
	for _, v := range drop {
		v.drop()
	}
}

// destroyView removes a view from its session.
func (s *Service) destroyView(ctx *simulator.Context, v holder) {
	ref := v.Reference()
	ctx.Session.Registry.Remove(ctx, ref)
	s.dropViews(func(k viewKey, _ viewOf) bool { return k == viewKey{ctx.Session.Registry, ref} })
	// The session's registry has no listeners: filters on the view are notified here.
	s.each(func(c *collector) {
		if c.key.session == ctx.Session.Registry {
			c.noteLeave(ref, nil, false)
		}
	})
}

// viewsOf lists the views of a session.
func (s *Service) viewsOf(session *simulator.Registry) []types.ManagedObjectReference {
	s.mu.Lock()
	defer s.mu.Unlock()
	var refs []types.ManagedObjectReference
	for k := range s.views {
		if k.session == session {
			refs = append(refs, k.ref)
		}
	}
	return refs
}

// ViewManager creates views that filters follow at the cost of the changes. Each session has its own. Create it with [Install]
// only, which replaces vcsim's.
type ViewManager struct {
	mo.ViewManager

	service *Service
}

// Lock and Unlock do nothing: the manager never changes.
func (m *ViewManager) Lock() {}

// Unlock does nothing; see Lock.
func (m *ViewManager) Unlock() {}

// managedObject returns the manager with the session's views, as clients read it.
func (m *ViewManager) managedObject(ctx *simulator.Context) mo.Reference {
	shown := &mo.ViewManager{Self: m.Self}
	if ctx.Session != nil {
		shown.ViewList = m.service.viewsOf(ctx.Session.Registry)
	}
	return shown
}

// entityTypes lists the types for a container view.
func entityTypes() []string {
	return []string{
		"ManagedEntity", "Folder", "StoragePod", "Datacenter", "ComputeResource", "ClusterComputeResource",
		"HostSystem", "ResourcePool", "VirtualApp", "VirtualMachine", "Datastore", "Network", "OpaqueNetwork",
		"DistributedVirtualPortgroup", "DistributedVirtualSwitch", "VmwareDistributedVirtualSwitch",
	}
}

// isContainer reports whether objects of the type can have descendants.
func isContainer(kind string) bool {
	switch kind {
	case "Folder", "StoragePod", "Datacenter", "ComputeResource", "ClusterComputeResource",
		"HostSystem", "ResourcePool", "VirtualApp":
		return true
	}
	return false
}

// entityKinds returns the types that are, or extend, one of those named. Nil means all; false that a name is not a type of
// entity.
func (s *schema) entityKinds(named []string) (map[string]struct{}, bool) {
	if len(named) == 0 {
		return nil, true
	}
	kinds := make(map[string]struct{})
	for _, name := range named {
		known := false
		for _, kind := range entityTypes() {
			if kind == name {
				known = true
			}
			if kind == name || s.extends(kind, name) {
				kinds[kind] = struct{}{}
			}
		}
		if !known {
			return nil, false
		}
	}
	return kinds, true
}

// extends reports whether a type of entity extends another.
func (s *schema) extends(kind, name string) bool {
	obj, ok := mo.Value(types.ManagedObjectReference{Type: kind})
	if !ok {
		return false
	}
	t, ok := moType(reflect.TypeOf(obj))
	return ok && s.isA(t, kind, name)
}

// ContainerView is a view of the entities below one: of the requested types, at any depth or directly below. It is always
// current, and lists only what its session may see. It is created by CreateContainerView.
type ContainerView struct {
	shown mo.ContainerView // without the list; first, for moType
	viewBase
	kinds map[string]struct{} // nil: every type
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

// managedObject returns the view as clients read it.
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

// DestroyView frees the view. Filters lose the objects that they selected by it.
func (v *ContainerView) DestroyView(ctx *simulator.Context, _ *types.DestroyView) soap.HasFault {
	v.service.destroyView(ctx, v)
	return &methods.DestroyViewBody{Res: new(types.DestroyViewResponse)}
}

// CreateContainerView creates a view of what is below an entity.
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

// ListView is a view of the objects that its session puts on it. Filters may wait on it during a change: it holds no lock while
// they are updated. It is created by CreateListView.
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

// managedObject returns the view as clients read it.
func (v *ListView) managedObject(ctx *simulator.Context) mo.Reference {
	shown := v.shown
	shown.Self = v.Self
	v.mu.Lock()
	shown.View = v.content.copy()
	v.mu.Unlock()
	shown.View = v.service.onlyVisible(ctx, shown.View)
	return &shown
}

// CreateListView creates a view of the given objects, which must exist.
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

// ModifyListView adds objects and removes others. It returns those that do not exist.
func (v *ListView) ModifyListView(ctx *simulator.Context, r *types.ModifyListView) soap.HasFault {
	changed, unresolved := v.change(ctx, r.Add, r.Remove)
	v.report(changed)
	return &methods.ModifyListViewBody{Res: &types.ModifyListViewResponse{Returnval: unresolved}}
}

// ResetListView replaces the list with the given objects. It returns those that do not exist.
func (v *ListView) ResetListView(ctx *simulator.Context, r *types.ResetListView) soap.HasFault {
	unresolved := v.reset(ctx, r.Obj)
	return &methods.ResetListViewBody{Res: &types.ResetListViewResponse{Returnval: unresolved}}
}

// ResetListViewFromView replaces the list with the contents of another view.
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

// CreateListViewFromView creates a list view with the contents of another view.
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

// DestroyView frees the view. Filters lose the objects that they selected by it.
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
	v.report(append(changed, old.list...))
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

func (v *ListView) report(changed []types.ManagedObjectReference) {
	if len(changed) != 0 {
		v.service.noteViewChange(v.session, v.Self, changed)
	}
}
