package provider

import (
	"fmt"

	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
)

// otherUUID returns the node's system UUID where that is of another VM than bound, and counts.
func (i instances) otherUUID(node *corev1.Node, bound inventory.UUID) (inventory.UUID, bool) {
	u, err := inventory.ParseUUID(node.Status.NodeInfo.SystemUUID)
	return u, err == nil && !i.choices.providerIDAlone && u != bound && u != bound.Swapped()
}

// elsewhere returns the VM of the node's system UUID when that is another UUID than bound; of several one that is on.
// There is none when no VM has that UUID, which in a container need not be the machine's; doubt says that there may be.
func (i instances) elsewhere(node *corev1.Node, bound inventory.UUID) (other *inventory.VM, doubt error) {
	u, ok := i.otherUUID(node, bound)
	if !ok {
		return nil, nil
	}
	r := withoutTemplates(i.inv.ByUUID(u))
	if len(r.VMs) == 0 {
		return nil, wrap(r.Doubt, "system uuid "+u.String()+" may be that of another vm, and not every vcenter could be asked")
	}
	return first(preferred(r.VMs, func(vm *inventory.VM) bool { return vm.Power == types.VirtualMachinePowerStatePoweredOn })), nil
}

// staleError says that a node's providerID is no longer that of the VM which it runs on.
type staleError struct {
	providerID string
	runsOn     *inventory.VM
}

// Error says what to do about it.
func (e *staleError) Error() string {
	return fmt.Sprintf("the node's system uuid is that of vm %s, not that of its providerID %s: delete the node, and it registers anew when its kubelet is restarted", e.runsOn, e.providerID)
}
