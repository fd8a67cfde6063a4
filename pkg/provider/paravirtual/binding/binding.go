// Package binding decides which VirtualMachine of a Supervisor is the VM of a Node, and whether it has what initializes the Node. The
// cloud provider calls it, and so does what explains the provider's decisions.
//
// Floor 1: beside pkg/provider, which it does not import.
package binding

import (
	"cmp"
	"errors"
	"fmt"
	"iter"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/vmoperator"
)

var (
	// ErrNoUUID reports that a VM is found whose status has no BIOS UUID yet.
	ErrNoUUID = errors.New("VM Operator reports no BIOS UUID of it yet")
	// ErrNoAddress reports that a VM is found whose status has no address that the cluster can use.
	ErrNoAddress = errors.New("VM Operator reports no address of it yet")
)

// Find returns the VM of a Node among those of a namespace: by providerID, else by system UUID, else by the Node's name. The error is
// [match.ErrNotFound], [match.ErrAmbiguous], or one of a providerID that is not vSphere's.
func Find(node match.Node, namespace string, vms iter.Seq[*vmoperator.VirtualMachine]) (*vmoperator.VirtualMachine, error) {
	s := search{node: node.Name, namespace: namespace, vms: vms}
	if node.ProviderID != "" {
		u, err := match.ParseProviderID(node.ProviderID)
		if err != nil {
			return nil, err
		}
		return s.one("providerID "+node.ProviderID, func(vm *vmoperator.VirtualMachine) bool { return HasUUID(vm, u) })
	}
	if u, err := match.ParseUUID(node.SystemUUID); err == nil {
		vm, err := s.one("system uuid "+node.SystemUUID, func(vm *vmoperator.VirtualMachine) bool { return HasUUID(vm, u) })
		if !errors.Is(err, match.ErrNotFound) {
			return vm, err
		}
	}
	// On a Supervisor, a VM, its hostname and its Node have one name.
	vm, err := s.one("name "+node.Name, func(vm *vmoperator.VirtualMachine) bool { return vm.Name == node.Name })
	if errors.Is(err, match.ErrNotFound) {
		return nil, fmt.Errorf("%w, and none with the node's system uuid %q", err, node.SystemUUID)
	}
	return vm, err
}

// HasUUID reports whether the VM has the UUID in either byte order.
func HasUUID(vm *vmoperator.VirtualMachine, u match.UUID) bool {
	return vm.UUID != (match.UUID{}) && vm.UUID.Equal(u)
}

type search struct {
	node, namespace string
	vms             iter.Seq[*vmoperator.VirtualMachine]
}

// one returns the only VM that matches, or of several the one with the node's name.
func (s search) one(by string, matches func(*vmoperator.VirtualMachine) bool) (*vmoperator.VirtualMachine, error) {
	var found []*vmoperator.VirtualMachine
	for vm := range s.vms {
		if matches(vm) {
			found = append(found, vm)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("namespace %q: %w: no VirtualMachine with %s", s.namespace, match.ErrNotFound, by)
	case 1:
		return found[0], nil
	}
	for _, vm := range found {
		if vm.Name == s.node {
			return vm, nil
		}
	}
	return nil, fmt.Errorf("namespace %q: %s: %w: %v", s.namespace, by, match.ErrAmbiguous, found)
}

// Check returns why a Node cannot be initialized with a VM that has this many addresses which its cluster can use.
func Check(vm *vmoperator.VirtualMachine, addresses int) error {
	if vm.UUID == (match.UUID{}) {
		return fmt.Errorf("vm %s: %w", vm, ErrNoUUID)
	}
	if addresses == 0 {
		return fmt.Errorf("vm %s: %w%s", vm, ErrNoAddress, whyOff(vm))
	}
	return nil
}

// whyOff explains why a VM has no address, if its power state does.
func whyOff(vm *vmoperator.VirtualMachine) string {
	switch vm.Status.PowerState {
	case vmoperator.PoweredOff:
		return ": it is off"
	case vmoperator.Suspended:
		return ": it is suspended"
	}
	return ""
}

// Place returns the region and the zone that a Node gets from its VM: of the labels, else the zone of the status.
func Place(vm *vmoperator.VirtualMachine) (region, zone string) {
	return vm.Labels[corev1.LabelTopologyRegion], cmp.Or(vm.Labels[corev1.LabelTopologyZone], vm.Status.Zone)
}
