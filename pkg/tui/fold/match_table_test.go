package fold

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match/matchtest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// No finding says of a Node that its providerID is not its VM's where the provider takes it for that.
func TestTable(t *testing.T) {
	rows, err := matchtest.Rows()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		for _, vm := range row.VMs {
			bound := isBoundTo(api.Node{ProviderID: row.Node.ProviderID}, api.VM{UUID: vm.UUID})
			if vm.Name == row.VM && row.By == "providerID" && !bound || bound && (row.By != "providerID" || row.Reason == "not found") {
				t.Errorf("%s: bound to VM %s: %v", row.Name, vm.Name, bound)
			}
		}
	}
}
