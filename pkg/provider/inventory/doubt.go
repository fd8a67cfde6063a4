package inventory

import (
	"errors"
	"fmt"
)

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
