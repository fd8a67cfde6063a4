package inventory

import (
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// Object is anything of the inventory that has a place in it.
type Object struct {
	Ref  types.ManagedObjectReference
	Name string
	// Parent is zero for the root folder, and for what the account may not see.
	Parent types.ManagedObjectReference
	// Tags are those on the object itself; known of VMs that are chosen, of networks, and of what is around VMs and disks.
	Tags []Tag
}

// Tree is the objects of a vCenter by their references.
type Tree map[types.ManagedObjectReference]*Object

// deepest is more than any inventory is nested: no loop of parents is followed forever.
const deepest = 64

// Up returns the object and those around it, the root folder last.
func (t Tree) Up(ref types.ManagedObjectReference) []*Object {
	var all []*Object
	for o := t[ref]; o != nil && len(all) < deepest; o = t[o.Parent] {
		all = append(all, o)
	}
	return all
}

// Path is the inventory path; the root folder's name is no part of it.
func (t Tree) Path(ref types.ManagedObjectReference) string {
	var b strings.Builder
	up := t.Up(ref)
	for _, u := range slices.Backward(up) {
		if u.Parent.Value == "" && u.Ref.Type == "Folder" {
			continue
		}
		b.WriteString("/" + u.Name)
	}
	return b.String()
}

// Above is the nearest object of one of the types around ref, itself included; nil where there is none.
func (t Tree) Above(ref types.ManagedObjectReference, kinds ...string) *Object {
	for _, o := range t.Up(ref) {
		if slices.Contains(kinds, o.Ref.Type) {
			return o
		}
	}
	return nil
}

// below is the path of ref below the folder or pool that lies directly in an object of one of the types: that of VMs in a
// datacenter, or the root pool in a compute resource.
func (t Tree) below(ref types.ManagedObjectReference, kinds ...string) string {
	up := t.Up(ref)
	var names []string
	for i := range up {
		if i+1 < len(up) && isOne(up[i+1].Ref.Type, kinds) || isOne(up[i].Ref.Type, kinds) {
			break
		}
		names = append([]string{up[i].Name}, names...)
	}
	return strings.Join(names, "/")
}

func isOne(kind string, kinds []string) bool {
	return slices.Contains(kinds, kind)
}

// Folder is the path of a VM folder below its datacenter's; empty for that one.
func (t Tree) Folder(ref types.ManagedObjectReference) string { return t.below(ref, "Datacenter") }

// Pool is the path of a resource pool or vApp below the root pool of its compute resource; empty for that one.
func (t Tree) Pool(ref types.ManagedObjectReference) string {
	return t.below(ref, "ComputeResource", "ClusterComputeResource")
}
