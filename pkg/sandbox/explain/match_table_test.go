package explain

import (
	"errors"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match/matchtest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// An explanation knows the VM that the provider takes for a Node's, and advises to delete a Node only where the provider cannot
// serve it.
func TestTable(t *testing.T) {
	rows, err := matchtest.Rows()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			c := Node{Name: row.Node.Name}
			c.Node.Is = row.Node.Kube()
			c.VCenters = []VCenter{{VCenter: api.VCenter{Name: "us"}}, {VCenter: api.VCenter{Name: "eu"}}}
			if row.Out != "" {
				c.VCenters[1].Err = errors.New("connection refused")
			}
			for _, vm := range row.VMs {
				c.VMs = append(c.VMs, VMState{
					VCenter: vm.VCenter, Name: vm.Name, UUID: vm.UUID, Hostname: vm.HostName, Addresses: vm.Addresses,
					Template: vm.Template, Connection: vm.Connection, Power: "on",
				})
			}
			q := c.instance()
			found := strings.HasPrefix(q.Answer, "VM us/"+row.VM+", by ")
			if row.VM == "" && strings.HasPrefix(q.Answer, "VM ") || row.VM != "" && row.Stale == "" && !found {
				t.Errorf("%q, want VM %q, %s", q.Answer, row.VM, row.Reason)
			}
			reason := map[string]string{
				"not found": "none: no vCenter has", "ambiguous": "VMs are of", "unsure": "not known: ", "foreign providerID": "another provider's",
				"invalid providerID": "holds no UUID",
			}[row.Reason]
			if row.Stale != "" {
				reason = "its providerID is that of another VM"
			}
			if !strings.Contains(q.Answer, reason) {
				t.Errorf("%q, want %s", q.Answer, row.Reason)
			}
			mend := row.Stale != "" || row.Reason == "foreign providerID" || row.Reason == "invalid providerID"
			if deletes := strings.Contains(q.Try, "delete node"); deletes != mend {
				t.Errorf("%q: try %q", q.Answer, q.Try)
			}
			if row.VM != "" && row.Stale == "" && q.Level == event.Error {
				t.Errorf("%q is an error", q.Answer)
			}
		})
	}
}
