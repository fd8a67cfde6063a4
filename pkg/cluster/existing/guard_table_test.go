package existing

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match/matchtest"
)

// The guard refuses a Node that the provider would take for a VM of the sandbox, or of which it would conclude something.
func TestTable(t *testing.T) {
	rows, err := matchtest.Rows()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		var i Intent
		for _, vm := range row.VMs {
			if !vm.Template { // of which no sandbox makes a node
				u, _ := match.ParseUUID(vm.UUID)
				i.VMs = append(i.VMs, match.VM{UUID: u, HostName: vm.HostName, Addresses: match.ParseAddresses(vm.Addresses), Connected: true})
			}
		}
		n := row.Node.Kube()
		if n.Spec.ProviderID != "" {
			if got := isVSphere(n.Spec.ProviderID); got == (row.Reason == "foreign providerID") {
				t.Errorf("%s: of vSphere %v, %s", row.Name, got, row.Reason)
			}
			continue
		}
		// The VMs of the sandbox are all there: no vCenter of its is out.
		if got := alike(*n, i); (got == "") != (row.Reason == "not found") {
			t.Errorf("%s: like a VM by %q, and its VM is %q, %s", row.Name, got, row.VM, row.Reason)
		}
	}
}
