package inventory

import (
	"slices"

	"github.com/vmware/govmomi/vim25/types"
)

// What bounds the memory of VMs that left: UUIDs, and references of each. Losing one costs an extra check, not the
// confirmation.
const (
	maxDeparted    = 10000
	maxDepartedRef = 8
)

// departed remembers where VMs were that left the watch or were given another UUID, for a direct question before they are
// called gone: a VM whose datastore is lost leaves the search index and still exists
// (kubernetes/cloud-provider-vsphere#642).
type departed map[UUID][]types.ManagedObjectReference

// add remembers a VM with a UUID.
func (d departed) add(vm *VM) {
	for u := range d {
		if len(d) < maxDeparted {
			break
		}
		delete(d, u)
	}
	d.keep(vm)
}

// keep remembers where a VM is, once, among the last of its UUID.
func (d departed) keep(vm *VM) {
	refs := slices.DeleteFunc(d[vm.UUID], func(r types.ManagedObjectReference) bool { return r == vm.Ref })
	d[vm.UUID] = append(refs[max(0, len(refs)-maxDepartedRef+1):], vm.Ref)
}

// back forgets a VM that is there again.
func (d departed) back(vm *VM) {
	refs := d[vm.UUID]
	i := slices.Index(refs, vm.Ref)
	switch {
	case i < 0:
	case len(refs) == 1:
		delete(d, vm.UUID)
	default:
		d[vm.UUID] = slices.Delete(refs, i, i+1)
	}
}

// lastSeen returns the references under which VMs of this UUID, in either order, are or were last seen.
func (x *index) lastSeen(u UUID) []types.ManagedObjectReference {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var refs []types.ManagedObjectReference
	for _, u := range []UUID{u, u.Swapped()} {
		for _, vm := range x.byUUID[u] {
			refs = append(refs, vm.Ref)
		}
		refs = append(refs, x.departed[u]...)
	}
	return refs
}

// forget ends the memory of departed VMs, once they are known to be gone.
func (x *index) forget(u UUID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.departed, u)
	delete(x.departed, u.Swapped())
}

// remember takes over where another index of the same vCenter last saw its VMs, all that are there included: one of
// them may leave before this index is in sync. Those that it sees itself are forgotten here.
func (x *index) remember(other *index) {
	other.mu.RLock()
	defer other.mu.RUnlock()
	for u, refs := range other.departed {
		if len(x.departed) == maxDeparted {
			break
		}
		x.departed[u] = slices.Clone(refs)
	}
	for _, vm := range other.vms {
		if vm.UUID != (UUID{}) {
			x.departed.keep(vm)
		}
	}
}
