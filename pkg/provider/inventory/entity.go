package inventory

import (
	"cmp"
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// maxDepth bounds a walk upward: a vCenter may report a loop while objects move.
const maxDepth = 256

// entity is an object above the VMs.
type entity struct {
	name   string
	parent types.ManagedObjectReference
}

// updateEntity applies an update of an object above the VMs. If asked, it reports whether that may change the place of VMs
// or its path. writing and the lock are held.
func (x *index) updateEntity(u vcenter.Update, asked bool) (matters bool) {
	old, known := x.entities[u.Ref]
	if u.Kind == vcenter.Leave {
		delete(x.entities, u.Ref)
		x.layout.Add(1)
		return asked && known && x.holdsAny(u.Ref)
	}
	var e entity
	if u.Kind == vcenter.Modify {
		e = old
	}
	for _, c := range u.Changes {
		switch c.Name {
		case "name":
			e.name, _ = c.Val.(string)
		case "parent":
			e.parent = reference(c.Val, &x.strings)
		}
	}
	if known && e == old {
		return false
	}
	x.entities[x.strings.ref(u.Ref)] = e
	x.layout.Add(1)
	if !asked {
		return false
	}
	if !known {
		return x.holdsAny(u.Ref)
	}
	inPath := u.Ref.Type == "Folder" || u.Ref.Type == "Datacenter"
	return e.parent != old.parent || inPath && e.name != old.name
}

// holdsAny reports whether the object has children. It scans everything, so it is only for rare events.
func (x *index) holdsAny(ref types.ManagedObjectReference) bool {
	for _, e := range x.entities {
		if e.parent == ref {
			return true
		}
	}
	for _, vm := range x.vms {
		if vm.Parent == ref || vm.Host == ref || vm.ResourcePool == ref {
			return true
		}
	}
	return false
}

// name returns an object's inventory name, or its reference if the name is unknown. The lock is held.
func (x *index) name(ref types.ManagedObjectReference) string {
	if e, ok := x.entities[ref]; ok && e.name != "" {
		return e.name
	}
	if vm := x.vms[ref]; vm != nil {
		return vm.Name
	}
	return ref.Value
}

// datacenters returns the references of all datacenters in a stable order. The lock is held.
func (x *index) datacenters() []types.ManagedObjectReference {
	var refs []types.ManagedObjectReference
	for ref := range x.entities {
		if ref.Type == "Datacenter" {
			refs = append(refs, ref)
		}
	}
	slices.SortFunc(refs, func(a, b types.ManagedObjectReference) int { return cmp.Compare(a.Value, b.Value) })
	return refs
}

// path returns the inventory path of an object above the VMs, without the root folder. The lock is held.
func (x *index) path(ref types.ManagedObjectReference) string {
	path := ""
	for range maxDepth {
		e, known := x.entities[ref]
		if !known {
			break
		}
		path = "/" + e.name + path
		ref = e.parent
	}
	return path
}
