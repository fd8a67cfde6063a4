package inventory

import (
	"errors"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vim25/types"
)

// Bounds of departed: UUIDs, and references per UUID. A lost reference costs an extra check, not the confirmation.
const (
	maxDeparted    = 10000
	maxDepartedRef = 8
)

// departed records the references of VMs that left the watch or got another UUID. Before such a VM is reported gone, its
// reference is queried: a VM whose datastore is lost leaves the search index but still exists
// (kubernetes/cloud-provider-vsphere#642).
type departed map[UUID][]types.ManagedObjectReference

func (d departed) add(vm *VM) {
	for u := range d {
		if len(d) < maxDeparted {
			break
		}
		delete(d, u)
	}
	d.keep(vm)
}

// keep records the VM's reference as the last of its UUID.
func (d departed) keep(vm *VM) {
	refs := slices.DeleteFunc(d[vm.UUID], func(r types.ManagedObjectReference) bool { return r == vm.Ref })
	d[vm.UUID] = append(refs[max(0, len(refs)-maxDepartedRef+1):], vm.Ref)
}

// returned removes a VM that has returned.
func (d departed) returned(vm *VM) {
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

// lastSeen returns the references under which VMs with this UUID, in either byte order, are or were last seen.
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

// forget removes VMs that are confirmed gone.
func (x *index) forget(u UUID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.departed, u)
	delete(x.departed, u.Swapped())
}

// remember copies the references of another index of the same vCenter, present VMs included, because they may leave before
// this index is in sync. The references of VMs that this index sees are removed later.
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
	errOutOfScope   = errors.New("is outside the configured datacenters")
	errUnidentified = errors.New("vm cannot be identified")
)

// checkOutOfScope returns an error if the index holds a VM with this UUID, in either byte order, outside the configured
// datacenters: lookups do not find it, but it exists.
func (m *member) checkOutOfScope(u UUID) error {
	for _, u := range []UUID{u, u.Swapped()} {
		vms := m.index.uuid(u)
		for _, vm := range vms {
			switch {
			case m.inside(vm):
			case vm.dc == nil:
				return fmt.Errorf("vcenter %q: %v is in no known datacenter", m.client.Name(), vm)
			default:
				return fmt.Errorf("vcenter %q: %v %w", m.client.Name(), vm, errOutOfScope)
			}
		}
	}
	return nil
}

// unidentified returns an error while the vCenter has a VM whose UUID was unknown during the whole watch, because the
// account lacks a permission or the vCenter cannot read the VM's configuration. It may be any VM, so no VM is confirmed
// absent. A VM that becomes unreadable later keeps its UUID and does not count here: resolve confirms its absence.
func (s *source) unidentified() error {
	if vm := s.index.unidentified(); vm != nil {
		return fmt.Errorf("vcenter %q: %w: the vcenter reports no uuid for %s, connection state %q, so it may be the vm that is searched for; "+
			"make it readable or unregister it", s.client.Name(), errUnidentified, vm, vm.Connection)
	}
	return nil
}

// unidentified returns a VM whose UUID is not known, or nil. Of several it always returns the same.
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

// Doubt returns why lookups cannot rely on a vCenter at the moment, or nil if they can.
func (inv *Inventory) Doubt(vcenter string) error {
	m := inv.member(vcenter)
	if m == nil {
		return fmt.Errorf("vcenter %q is not part of the inventory", vcenter)
	}
	return m.doubt()
}
