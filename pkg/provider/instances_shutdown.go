package provider

import (
	"errors"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match/kubenode"
)

// shutdown reports whether the node's VM is off. The system UUID may belong, or possibly belong, to another VM that is not
// off. Then the node runs there, and shutdown returns an error: a taint would keep pods off a running node.
func (i instances) shutdown(node *corev1.Node) (bool, error) {
	vm, err := i.find(node)
	if errors.Is(err, match.ErrAmbiguous) {
		vm, err = i.allOff(node, err)
	}
	if err != nil {
		return false, err
	}
	switch vm.Power {
	case types.VirtualMachinePowerStatePoweredOn:
		return false, nil
	case types.VirtualMachinePowerStatePoweredOff, types.VirtualMachinePowerStateSuspended:
		other, ok, doubt := i.elsewhere(node, vm.UUID)
		if ok && other.Power == types.VirtualMachinePowerStatePoweredOn {
			doubt = &match.StaleError{ProviderID: node.Spec.ProviderID, RunsOn: other.String()}
		}
		if doubt != nil {
			return false, fmt.Errorf("node %q: vm %s is off, and %w", node.Name, vm, doubt)
		}
		return true, nil
	}
	return false, fmt.Errorf("node %q: vm %s: power state %q is unknown", node.Name, vm, vm.Power)
}

// allOff returns one of the VMs with the UUID of a node's providerID if all of them are off: guests that are off report no
// hostname to choose by, and the node's VM is off in any case. Otherwise it returns ambiguous.
func (i instances) allOff(node *corev1.Node, ambiguous error) (*inventory.VM, error) {
	if node.Spec.ProviderID == "" {
		return nil, ambiguous
	}
	u, err := match.BoundTo(kubenode.Facts(node), i.choices.Choices)
	if err != nil {
		return nil, err
	}
	r := i.inv.ByUUID(u)
	isOn := func(vm *inventory.VM) bool {
		return vm.Power != types.VirtualMachinePowerStatePoweredOff && vm.Power != types.VirtualMachinePowerStateSuspended
	}
	if len(r.VMs) == 0 || r.Doubt != nil || slices.ContainsFunc(r.VMs, isOn) {
		return nil, ambiguous
	}
	return match.One(r, node.Name, match.Choices{FirstOfSeveral: true})
}
