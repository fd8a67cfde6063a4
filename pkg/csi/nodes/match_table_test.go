package nodes

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match/matchtest"
)

// The driver uses only UUIDs: a node that the provider finds by UUID has the same VM here, unless the table differs.
func TestTable(t *testing.T) {
	rows, err := matchtest.Rows()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			m := &member{inventory: &inventory{byUUID: map[match.UUID][]*vm{}}, synced: true}
			n := &Nodes{}
			n.members.Store(&[]*member{m})
			for _, v := range row.VMs {
				u, _ := match.ParseUUID(v.UUID)
				fresh := &vm{name: v.Name, uuid: u, template: v.Template}
				m.inventory.byUUID[u] = append(m.inventory.byUUID[u], fresh)
			}
			want := row.Driver
			if want == "" && (row.By == string(match.ByProviderID) || row.By == string(match.BySystemUUID)) {
				want = row.VM
			}
			if want == "none" {
				want = ""
			}
			got := ""
			if u, ok := (KubeNode{Name: row.Node.Name, ProviderID: row.Node.ProviderID, SystemUUID: row.Node.SystemUUID}).uuid(); ok {
				if _, v, err := n.lookup(u); err == nil {
					got = v.name
				}
			}
			if got != want {
				t.Errorf("VM %q, want %q", got, want)
			}
		})
	}
}
