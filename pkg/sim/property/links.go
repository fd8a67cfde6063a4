package property

import (
	"reflect"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// links are the references by which an entity hangs in the inventory.
type links struct {
	// up are the objects that it is a child of: its parent, and of a VM also
	// its host and its resource pool.
	up []types.ManagedObjectReference
	// near are other objects with a list that names it: of a VM its datastores
	// and networks.
	near []types.ManagedObjectReference
}

// linksOf reads the links of an entity, which must be locked, or not yet
// known to anybody. It says false of anything that is no entity.
func linksOf(obj mo.Reference) (links, bool) {
	e, ok := obj.(mo.Entity)
	if !ok {
		return links{}, false
	}
	var l links
	l.hang(e.Entity().Parent)
	v, ok := moValue(reflect.ValueOf(obj))
	if !ok || !v.CanAddr() {
		return l, true
	}
	if vm, ok := reflect.TypeAssert[*mo.VirtualMachine](v.Addr()); ok {
		l.hang(vm.Runtime.Host)
		l.hang(vm.ResourcePool)
		l.near = append(append(l.near, vm.Datastore...), vm.Network...)
	}
	return l, true
}

func (l *links) hang(ref *types.ManagedObjectReference) {
	if ref != nil && ref.Value != "" {
		l.up = append(l.up, *ref)
	}
}

// all are the links, whatever they are.
func (l *links) all() []types.ManagedObjectReference {
	return append(append([]types.ManagedObjectReference(nil), l.up...), l.near...)
}
