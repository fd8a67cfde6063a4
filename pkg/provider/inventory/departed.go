package inventory

import (
	"errors"
	"fmt"
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

var (
	errOutside      = errors.New("lies outside the configured datacenters")
	errUnidentified = errors.New("vm cannot be identified")
)

// outside returns an error when the index holds a VM of this UUID, in either byte order, that the configured
// datacenters hide: lookups do not find it, and it is there.
func (m *member) outside(u UUID) error {
	for _, u := range []UUID{u, u.Swapped()} {
		vms := m.index.uuid(u)
		for _, vm := range vms {
			switch {
			case m.inside(vm):
			case vm.dc == nil:
				return fmt.Errorf("vcenter %q: %v lies in no datacenter that is known", m.client.Name(), vm)
			default:
				return fmt.Errorf("vcenter %q: %v %w", m.client.Name(), vm, errOutside)
			}
		}
	}
	return nil
}

// unidentified returns an error while the vCenter has a VM that could be any: one whose UUID it has never told since the
// VM is watched, for lack of permission or because it cannot read the VM's configuration itself. Nobody's absence is
// certain meanwhile. A VM that became unreadable later keeps the UUID that it had, and is in nobody's way: its own
// absence is what its reference says.
func (s *source) unidentified() error {
	if vm := s.index.unidentified(); vm != nil {
		return fmt.Errorf("vcenter %q: %w, it may be any: %s tells no uuid, connection state %q; "+
			"make it readable or take it out of the vcenter", s.client.Name(), errUnidentified, vm, vm.Connection)
	}
	return nil
}

// unidentified returns a VM whose UUID is not known, nil when there is none; among several always the same.
func (x *index) unidentified() *VM {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var found *VM
	for _, vm := range x.unknown {
		if found == nil || vm.Ref.Value < found.Ref.Value {
			found = vm
		}
	}
	return found
}

// Doubt returns why lookups cannot count on the vCenter of that name at the moment, nil when they can.
func (inv *Inventory) Doubt(vcenter string) error {
	m := inv.member(vcenter)
	if m == nil {
		return fmt.Errorf("vcenter %q is not part of the inventory", vcenter)
	}
	return m.doubt()
}
