package property

import (
	"reflect"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// ViewManager makes views that filters can follow at the cost of what changes.
// Each session has its own. Create it with [Install] only, which puts it in
// place of vcsim's.
type ViewManager struct {
	mo.ViewManager

	service *Service
}

// Lock and Unlock do nothing: the manager never changes.
func (m *ViewManager) Lock() {}

// Unlock does nothing; see Lock.
func (m *ViewManager) Unlock() {}

// managedObject is the manager as a client reads it, with the session's views.
func (m *ViewManager) managedObject(ctx *simulator.Context) mo.Reference {
	shown := &mo.ViewManager{Self: m.Self}
	if ctx.Session != nil {
		shown.ViewList = m.service.viewsOf(ctx.Session.Registry)
	}
	return shown
}

// entityTypes are the types a container view can be asked for.
func entityTypes() []string {
	return []string{
		"ManagedEntity", "Folder", "StoragePod", "Datacenter", "ComputeResource", "ClusterComputeResource",
		"HostSystem", "ResourcePool", "VirtualApp", "VirtualMachine", "Datastore", "Network", "OpaqueNetwork",
		"DistributedVirtualPortgroup", "DistributedVirtualSwitch", "VmwareDistributedVirtualSwitch",
	}
}

// isContainer says whether something can be below objects of the type.
func isContainer(kind string) bool {
	switch kind {
	case "Folder", "StoragePod", "Datacenter", "ComputeResource", "ClusterComputeResource",
		"HostSystem", "ResourcePool", "VirtualApp":
		return true
	}
	return false
}

// entityKinds finds the types that are, or extend, one of those named. Nil is
// all of them; false means that one is no type of entity.
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

// extends says whether a type of entity extends another.
func (s *schema) extends(kind, name string) bool {
	obj, ok := mo.Value(types.ManagedObjectReference{Type: kind})
	if !ok {
		return false
	}
	t, ok := moType(reflect.TypeOf(obj))
	return ok && s.isA(t, kind, name)
}
