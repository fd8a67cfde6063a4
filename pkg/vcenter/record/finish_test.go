package record

import (
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// TestRelent records what real vCenters have and a topology does not take.
func TestRelent(t *testing.T) {
	r := &recorder{top: &topology.Topology{
		APIVersion: topology.APIVersion, Kind: topology.Kind, Metadata: topology.Metadata{Name: "odd"},
		Spec: topology.Spec{VCenters: []topology.VCenter{{
			Name: "vc", Version: "5.5.0",
			Datacenters: []topology.Datacenter{{
				Name: "dc", Hosts: []topology.Host{{Name: "esx-1"}},
				VMs: []topology.VM{
					{Name: "a", Host: "esx-1", Hostname: "under_score", Role: topology.RoleWorker, HardwareVersion: "vmx-99"},
					{Name: "b", Host: "esx-1", Hostname: "b", Role: topology.RoleWorker, UUID: "not one", NICs: []topology.NIC{{MAC: "zz"}}},
				},
			}},
		}}},
	}}
	got, err := r.finish()
	if err != nil {
		t.Fatal(err)
	}
	if nodes := got.Topology.Nodes(); len(nodes) != 1 || nodes[0].VM.Name != "b" {
		t.Errorf("nodes %v", nodes)
	}
	told := strings.Join(got.Warnings, "\n")
	for _, want := range []string{
		"vCenter vc: version is left out", "VM a: hostname is left out", "VM a: hardwareVersion is left out",
		"VM b: uuid is left out", "VM b: nics is left out",
	} {
		if !strings.Contains(told, want) {
			t.Errorf("warnings\n%s\nlack %q", told, want)
		}
	}
	r.top.Metadata.Name = "Not a label"
	if _, err := r.finish(); err == nil || !strings.Contains(err.Error(), "metadata.name") {
		t.Errorf("error %v", err)
	}
}

// TestWarningsOfReading keeps a vCenter's words out of what pseudonyms are for, and not in silence.
func TestWarningsOfReading(t *testing.T) {
	f := &found{name: "west", inv: &inventory.Inventory{Warnings: []string{`vcenter "west": no tags`}}}
	open, closed := new(recorder), &recorder{naming: naming{pseudonyms: new(Pseudonyms)}}
	open.unread(f)
	closed.unread(f)
	if len(open.warnings) != 1 || open.warnings[0] != f.inv.Warnings[0] {
		t.Errorf("%q", open.warnings)
	}
	if len(closed.warnings) != 1 || !strings.HasPrefix(closed.warnings[0], "vCenter vcenter-1: ") || strings.Contains(closed.warnings[0], "west") {
		t.Errorf("%q", closed.warnings)
	}
}

// TestNoHardware records a VM that its vCenter knows by name only, and says so.
func TestNoHardware(t *testing.T) {
	var r recorder
	var dc topology.Datacenter
	r.machine(&found{inv: &inventory.Inventory{}}, &dc, inventory.VM{Name: "a", Power: "poweredOff"})
	if told := strings.Join(r.warnings, "\n"); len(dc.VMs) != 1 || !strings.Contains(told, "VM a tells nothing of its hardware") {
		t.Errorf("%+v, %s", dc.VMs, told)
	}
}

func TestNames(t *testing.T) {
	var n naming
	if got := n.name("vm", "a%2fb {1} "); got != "a-b -1-" {
		t.Errorf("%q", got)
	}
	if len(n.warnings) != 1 || release("8.0.3.100") != "8.0.3" || release("9.0") != "9.0.0" || label("VC_West.example ") != "vc-west-example" {
		t.Errorf("%v, %q", n.warnings, label("VC_West.example "))
	}
}
