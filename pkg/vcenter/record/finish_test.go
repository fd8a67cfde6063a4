package record

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	warnings := strings.Join(got.Warnings, "\n")
	for _, want := range []string{
		"vCenter vc: version is left out", "VM a: hostname is left out", "VM a: hardwareVersion is left out",
		"VM b: uuid is left out", "VM b: nics is left out",
	} {
		if !strings.Contains(warnings, want) {
			t.Errorf("warnings\n%s\nlack %q", warnings, want)
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
	r.vm(&found{inv: &inventory.Inventory{}}, &dc, inventory.VM{Name: "a", Power: "poweredOff"})
	if warnings := strings.Join(r.warnings, "\n"); len(dc.VMs) != 1 || !strings.Contains(warnings, "VM a does not report its hardware") {
		t.Errorf("%+v, %s", dc.VMs, warnings)
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

// TestUnplaced warns about tags that a topology cannot have, and about no others.
func TestUnplaced(t *testing.T) {
	of := func(kind, value string) ref { return ref{Type: kind, Value: value} }
	tree := inventory.Tree{}
	add := func(self, parent ref, tag string) {
		tree[self] = &inventory.Object{Ref: self, Name: self.Value, Parent: parent, Tags: []inventory.Tag{{Category: "team", Name: tag}}}
	}
	add(of("Datacenter", "dc"), ref{}, "recorded")
	add(of("Folder", "network"), of("Datacenter", "dc"), "net")
	add(of("Folder", "campus"), of("Folder", "network"), "dmz")
	add(of("StoragePod", "gold"), of("Datacenter", "dc"), "fast")
	add(of("ComputeResource", "alone"), of("Datacenter", "dc"), "attic")
	f := &found{inv: &inventory.Inventory{Tree: tree}}
	var r recorder
	r.unplaced(f, of("Folder", "campus"), "networks")
	r.unplaced(f, of("StoragePod", "gold"), "datastores")
	r.unplaced(f, of("ComputeResource", "alone"), "hosts")
	want := []string{
		"tag team:dmz of campus is not recorded: a topology has no tags on a folder of networks",
		"tag team:net of network is not recorded: a topology has no tags on a folder of networks",
		"tag team:fast of gold is not recorded: a topology has no tags on a datastore cluster",
		"tag team:attic of alone is not recorded: a topology has no tags on a compute resource around a host",
	}
	if diff := cmp.Diff(want, r.warnings); diff != "" {
		t.Error(diff)
	}
	closed := recorder{naming: naming{pseudonyms: new(Pseudonyms)}}
	closed.unplaced(f, of("Folder", "campus"), "networks")
	for _, w := range closed.warnings {
		if strings.Contains(w, "dmz") || strings.Contains(w, "campus") {
			t.Errorf("%q tells of names", w)
		}
	}
}

// TestPseudonymsOfNumbers keeps neither the numbers of VLANs nor the sizes of subnets, and what is one stays one.
func TestPseudonymsOfNumbers(t *testing.T) {
	var p Pseudonyms
	for _, tc := range []struct{ id, want int32 }{{0, 0}, {3101, 1}, {12, 2}, {3101, 1}} {
		if got, err := p.VLAN(tc.id); err != nil || got != tc.want {
			t.Errorf("VLAN %d: %d, %v", tc.id, got, err)
		}
	}
	for _, tc := range []struct{ prefix, want string }{
		{"192.168.16.5/20", "10.128.0.2/16"},
		{"192.168.17.7/20", "10.128.0.3/16"},
		{"172.20.0.9/16", "10.129.0.2/16"},
		{"192.0.2.130/25", "10.0.0.2/24"},
		{"192.0.2.4/24", "10.0.0.3/24"},
	} {
		got, err := p.Address(netip.MustParsePrefix(tc.prefix))
		if err != nil || got.String() != tc.want {
			t.Errorf("%s: %s, %v, want %s", tc.prefix, got, err, tc.want)
		}
	}
}
