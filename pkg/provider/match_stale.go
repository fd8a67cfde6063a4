package provider

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
)

// elsewhere returns the VM of the node's system UUID when that is another one than vm, which may be nil; nil when it is
// not, or when no VM has that UUID: in a container it need not be the machine's.
func (i instances) elsewhere(node *v1.Node, vm *inventory.VM) *inventory.VM {
	u, err := inventory.ParseUUID(node.Status.NodeInfo.SystemUUID)
	if err != nil || i.choices.providerIDAlone || vm != nil && (vm.UUID == u || vm.UUID == u.Swapped()) {
		return nil
	}
	other, err := withoutTemplates(i.inv.ByUUID(u)).One()
	if err != nil {
		return nil
	}
	return other
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
