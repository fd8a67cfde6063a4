package inventory

import (
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// Object is an object of the inventory.
type Object struct {
	Ref  types.ManagedObjectReference
	Name string
	// Parent is zero for the root folder, and for an invisible parent.
	Parent types.ManagedObjectReference
	// Tags are the object's tags; they are known for selected VMs, networks, and ancestors of VMs and disks.
	Tags []Tag
}

// Tree holds the objects of a vCenter by reference.
type Tree map[types.ManagedObjectReference]*Object

// deepest exceeds any nesting, to stop at loops of parents.
const deepest = 64

// Up returns the object and its ancestors, the root folder last.
func (t Tree) Up(ref types.ManagedObjectReference) []*Object {
	var all []*Object
	for o := t[ref]; o != nil && len(all) < deepest; o = t[o.Parent] {
		all = append(all, o)
	}
	return all
}

// Path returns the inventory path, without the root folder's name.
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

// Above returns the nearest object of one of the types among ref and its ancestors, or nil.
func (t Tree) Above(ref types.ManagedObjectReference, kinds ...string) *Object {
	for _, o := range t.Up(ref) {
		if slices.Contains(kinds, o.Ref.Type) {
			return o
		}
	}
	return nil
}

// below returns the path of ref below the top folder or pool in an object of one of the types: the VM folder of a datacenter, or
// the root pool of a compute resource.
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

// Folder returns the path of a VM folder below its datacenter's; empty for that one.
func (t Tree) Folder(ref types.ManagedObjectReference) string { return t.below(ref, "Datacenter") }

// Pool returns the path of a resource pool or vApp below the root pool of its compute resource; empty for that one.
func (t Tree) Pool(ref types.ManagedObjectReference) string {
	return t.below(ref, "ComputeResource", "ClusterComputeResource")
}
