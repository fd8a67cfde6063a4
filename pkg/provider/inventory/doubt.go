package inventory

import (
	"errors"
	"fmt"

	"github.com/vmware/govmomi/vim25/types"
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
		if inside := m.filter(vms); len(inside) == len(vms) {
			continue
		}
		return fmt.Errorf("vcenter %q: one of %v %w", m.client.Name(), vms, errOutside)
	}
	return nil
}

// unidentified returns an error while the vCenter has a VM that could be any: one whose UUID it does not tell, or whose
// configuration it cannot read itself. Nobody's absence is certain meanwhile.
func (m *member) unidentified() error {
	if vm := m.index.unidentified(); vm != nil {
		return fmt.Errorf("vcenter %q: %w: %s, connection state %q, uuid %s", m.client.Name(), errUnidentified, vm, vm.Connection, vm.UUID)
	}
	return nil
}

// unidentified returns a VM that could be any, nil when there is none; among several always the same.
func (x *index) unidentified() *VM {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var found *VM
	for _, vm := range x.vms {
		if !vm.identified() && (found == nil || vm.Ref.Value < found.Ref.Value) {
			found = vm
		}
	}
	return found
}

// identified reports whether the UUID is known and told by a vCenter that can read the VM's configuration.
func (vm *VM) identified() bool {
	switch vm.Connection {
	case types.VirtualMachineConnectionStateInaccessible,
		types.VirtualMachineConnectionStateOrphaned,
		types.VirtualMachineConnectionStateInvalid:
		return false
	}
	return vm.UUID != UUID{} && !vm.uuidHidden
}
