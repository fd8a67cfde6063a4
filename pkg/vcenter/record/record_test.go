package record_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/stocksim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/record"
)

func categories() inventory.Categories {
	return inventory.Categories{Region: "k8s-region", Zone: "k8s-zone"}
}

func connect(t testing.TB, v vcenter.VCenter) *vcenter.Connection {
	t.Helper()
	c, err := v.Connect(t.Context(), vcenter.Options{UserAgent: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// boot runs a topology, and leads to its first vCenter.
func boot(t *testing.T, source string) *vcenter.Connection {
	t.Helper()
	config, err := vcenter.LoadFile(sim.Start(t, source).CloudConfigFile())
	if err != nil {
		t.Fatal(err)
	}
	return connect(t, config.VCenters[0])
}

func rows(t *testing.T, c *vcenter.Connection) []inventory.VM {
	t.Helper()
	inv, err := inventory.Read(t.Context(), c, inventory.Selection{}, categories())
	if err != nil {
		t.Fatal(err)
	}
	return inv.VMs
}

// silent records and wants no warnings.
func silent(t *testing.T, c *vcenter.Connection, o record.Options) *record.Recording {
	t.Helper()
	r, err := record.Record(t.Context(), []*vcenter.Connection{c}, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range r.Warnings {
		t.Error(w)
	}
	return r
}

// TestReplay boots what was recorded and finds the same VMs.
func TestReplay(t *testing.T) {
	original := boot(t, "../testdata/zones.yaml")
	r := silent(t, original, record.Options{Name: "again", ControlPlane: []string{"cp-*"}})
	replay := boot(t, string(r.File))
	if diff := cmp.Diff(rows(t, original), rows(t, replay), cmpopts.IgnoreFields(inventory.VM{}, "Ref", "HostRef", "PoolRef")); diff != "" {
		t.Error(diff)
	}
	roles := map[topology.Role]int{}
	for vm := range r.Topology.AllVMs() {
		roles[vm.VM.Role]++
	}
	// Of the VMs without a hostname one is off, one has no tools and one is a template.
	if want := map[topology.Role]int{"": 3, topology.RoleControlPlane: 1, topology.RoleWorker: 3}; cmp.Diff(want, roles) != "" {
		t.Errorf("roles %v", roles)
	}
	dc := r.Topology.Spec.VCenters[0].Datacenters[1]
	if len(dc.Datastores) != 2 || len(dc.Switches) != 1 || dc.Switches[0].PortGroups[0].VLAN != 12 || len(dc.Clusters[0].Hosts) != 2 ||
		dc.Clusters[0].Hosts[0].Memory != 128*topology.Gi || len(dc.Clusters[0].Pools) != 1 {
		t.Errorf("%+v", dc)
	}
	tag := func(name string) []topology.Tag { return []topology.Tag{{Category: "team", Name: name}} }
	i := slices.IndexFunc(dc.Networks, func(n topology.Network) bool { return n.Name == "nodes" })
	if i < 0 || cmp.Diff(tag("campus"), dc.Networks[i].Tags) != "" || cmp.Diff(tag("dmz"), dc.Switches[0].PortGroups[0].Tags) != "" {
		t.Errorf("networks %+v, switches %+v", dc.Networks, dc.Switches)
	}
}

func TestRecordChosenParts(t *testing.T) {
	r := silent(t, boot(t, "../testdata/zones.yaml"), record.Options{
		Name: "part", Selection: inventory.Selection{Names: []string{"worker-3"}},
	})
	if n := r.Topology.Count(); n.VMs != 1 || n.Hosts != 1 || n.Datacenters != 1 {
		t.Errorf("%+v", n)
	}
	if _, err := record.Record(t.Context(), nil, record.Options{Name: "none"}); err == nil {
		t.Error("recorded nothing")
	}
}

// TestPseudonyms records twice with one map, and finds no name and no address of the original in either.
func TestPseudonyms(t *testing.T) {
	original := boot(t, "../testdata/zones.yaml")
	file := filepath.Join(t.TempDir(), "map.json")
	var before []byte
	for range 2 {
		p, err := record.LoadPseudonyms(file)
		if err != nil {
			t.Fatal(err)
		}
		r := silent(t, original, record.Options{Name: "nobody", Pseudonyms: p})
		if err := p.Save(file); err != nil {
			t.Fatal(err)
		}
		if before != nil && !bytes.Equal(before, r.File) {
			t.Error(cmp.Diff(string(before), string(r.File)))
		}
		before = r.File
		for _, secret := range []string{
			"west", "east", "worker", "cp-1", "corp", "example", "americas", "masters", "golden", "attic", "us-", "prod", "blue",
			"10.20.", "10.7.", "10.1.0.", "2001:db8", "shared", "local", "dvs", "dpg", "web", "team", "campus", "dmz",
		} {
			if strings.Contains(strings.ReplaceAll(string(r.File), "role: worker", ""), secret) {
				t.Errorf("the recording tells of %q", secret)
			}
		}
		for _, vm := range rows(t, original) {
			if strings.Contains(string(r.File), vm.UUID) || strings.Contains(string(r.File), vm.InstanceUUID) {
				t.Errorf("the recording has a UUID of %s", vm.Name)
			}
		}
		// The names are others, the places are the same.
		zones := map[topology.Place]int{}
		for vm := range r.Topology.AllVMs() {
			zones[r.Topology.Place(vm)]++
		}
		want := map[topology.Place]int{}
		for _, vm := range rows(t, original) {
			want[topology.Place{Region: p.Name("region", vm.Region), Zone: p.Name("zone", vm.Zone)}]++
		}
		if diff := cmp.Diff(want, zones); diff != "" {
			t.Error(diff)
		}
		boot(t, string(r.File))
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestPseudonymsOfAll records two vCenters that go by one name, with tag categories that tell whose they are.
func TestPseudonymsOfAll(t *testing.T) {
	config, err := vcenter.LoadFile(sim.Start(t, `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: two}
spec:
  categories: {region: acme-region, zone: acme-zone}
  vcenters:
    - {name: head-office, datacenters: [{name: acme-1, region: r1, zone: z1, hosts: [{name: acme-h1}], vms: [{name: acme-a}]}]}
    - {name: branch, datacenters: [{name: acme-2, region: r1, zone: z2, hosts: [{name: acme-h2}], vms: [{name: acme-b}]}]}
`).CloudConfigFile())
	if err != nil {
		t.Fatal(err)
	}
	var all []*vcenter.Connection
	for _, v := range config.VCenters {
		v.Name = "Head-Office"
		all = append(all, connect(t, v))
	}
	p := new(record.Pseudonyms)
	r, err := record.Record(t.Context(), all, record.Options{
		Name: "nobody", Pseudonyms: p, Categories: inventory.Categories{Region: "acme-region", Zone: "acme-zone"},
	})
	if err != nil {
		t.Fatal(err)
	}
	warnings := strings.ToLower(string(r.File) + strings.Join(r.Warnings, "\n"))
	for _, secret := range []string{"acme", "head", "office", "branch"} {
		if strings.Contains(warnings, secret) {
			t.Errorf("the recording tells of %q:\n%s", secret, warnings)
		}
	}
	var places []topology.Place
	for vm := range r.Topology.AllVMs() {
		places = append(places, r.Topology.Place(vm))
	}
	want := []topology.Place{
		{Region: p.Name("region", "r1"), Zone: p.Name("zone", "z2")}, {Region: p.Name("region", "r1"), Zone: p.Name("zone", "z1")},
	}
	if diff := cmp.Diff(want, places); diff != "" {
		t.Error(diff)
	}
}

// stock leads to a vcsim that shares nothing with the sandbox.
func stock(t testing.TB, vms int) *vcenter.Connection {
	t.Helper()
	s, err := stocksim.Start(3, vms)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Remove)
	password, _ := s.URL().User.Password()
	config, err := vcenter.FromEnvironment([]string{
		"GOVC_URL=" + s.URL().Host, "GOVC_USERNAME=" + s.URL().User.Username(), "GOVC_PASSWORD=" + password, "GOVC_INSECURE=1",
	})
	if err != nil {
		t.Fatal(err)
	}
	return connect(t, config.VCenters[0])
}

func TestStock(t *testing.T) {
	original := stock(t, 5)
	r, err := record.Record(t.Context(), []*vcenter.Connection{original}, record.Options{Name: "stock"})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range r.Warnings {
		t.Log(w)
	}
	if warnings := strings.Join(r.Warnings, "\n"); !strings.Contains(warnings, "API 6.5: it has no cloud native storage") {
		t.Errorf("nothing of its age in %s", warnings)
	}
	replay := boot(t, string(r.File))
	here, there := rows(t, original), rows(t, replay)
	for i := range here {
		if here[i].Name != there[i].Name || here[i].UUID != there[i].UUID || here[i].Host != there[i].Host || here[i].Path != there[i].Path {
			t.Errorf("%+v became %+v", here[i], there[i])
		}
	}
}

// BenchmarkRecord is of 1,000 VMs, which it takes most of a minute to make.
func BenchmarkRecord(b *testing.B) {
	c := stock(b, 1000)
	for b.Loop() {
		if _, err := record.Record(b.Context(), []*vcenter.Connection{c}, record.Options{Name: "big"}); err != nil {
			b.Fatal(err)
		}
	}
}
