package doctor

import (
	"errors"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match/matchtest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// Doctor knows the VM that the provider takes for a Node's.
func TestTable(t *testing.T) {
	rows, err := matchtest.Rows()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			var vms []inventory.VM
			for _, vm := range row.VMs {
				vms = append(vms, inventory.VM{
					VCenter: vm.VCenter, Name: vm.Name, UUID: vm.UUID, Hostname: vm.HostName, Addresses: vm.Addresses,
					Template: vm.Template, Connection: vm.Connection,
				})
			}
			var doubt error
			if row.Out != "" {
				doubt = errors.New("connection refused")
			}
			a := Match(NodeOf(row.Node.Kube()), vms, doubt)
			if a.VM.Name != row.VM || string(a.Reason) != row.Reason || string(a.By) != row.By {
				t.Errorf("VM %q, %s by %s; want %q, %s by %s", a.VM.Name, a.Reason, a.By, row.VM, row.Reason, row.By)
			}
		})
	}
}
