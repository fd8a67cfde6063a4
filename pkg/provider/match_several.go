package provider

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
)

// one returns the only VM of r. Among several of the same UUID (a clone keeps it if made carelessly) or the same name, it
// is the only one that is no template, or the only one of these whose guest has exactly the node's name, case aside.
func (i instances) one(r inventory.Result, node *corev1.Node) (*inventory.VM, error) {
	vm, err := r.One()
	if !errors.Is(err, inventory.ErrAmbiguous) {
		return vm, err
	}
	if i.choices.firstOfSeveral {
		return first(r.VMs), nil
	}
	vms := preferred(r.VMs, func(vm *inventory.VM) bool { return !vm.Template })
	vms = preferred(vms, func(vm *inventory.VM) bool { return strings.EqualFold(vm.HostName, node.Name) })
	if len(vms) == 1 {
		return vms[0], nil
	}
	return nil, err
}

// oneOfUUID is one for VMs of the same UUID: where one VM is registered twice, after a host was lost or on its way
// between vCenters, it is the registration that is alive.
func (i instances) oneOfUUID(r inventory.Result, node *corev1.Node) (*inventory.VM, error) {
	if !i.choices.firstOfSeveral {
		r.VMs = preferred(r.VMs, func(vm *inventory.VM) bool {
			return vm.Connection == types.VirtualMachineConnectionStateConnected
		})
	}
	return i.one(r, node)
}

// preferred returns those of vms that are wanted, or all when none is.
func preferred(vms []*inventory.VM, wanted func(*inventory.VM) bool) []*inventory.VM {
	if len(vms) < 2 {
		return vms
	}
	left := slices.DeleteFunc(slices.Clone(vms), func(vm *inventory.VM) bool { return !wanted(vm) })
	if len(left) == 0 {
		return vms
	}
	return left
}

// first is the same VM whatever the order they come in.
func first(vms []*inventory.VM) *inventory.VM {
	return slices.MinFunc(vms, func(a, b *inventory.VM) int {
		return cmp.Or(cmp.Compare(a.VCenter, b.VCenter), cmp.Compare(a.Ref.Value, b.Ref.Value))
	})
}

// withoutTemplates drops VMs that no node can be bound to. A node already bound to one keeps it.
func withoutTemplates(r inventory.Result) inventory.Result {
	if slices.ContainsFunc(r.VMs, func(vm *inventory.VM) bool { return vm.Template }) {
		r.VMs = slices.DeleteFunc(slices.Clone(r.VMs), func(vm *inventory.VM) bool { return vm.Template })
	}
	return r
}
