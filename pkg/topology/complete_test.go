package topology_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Tags in the two categories count as region: and zone: do, also those of the root folder.
func TestPlaceFromTags(t *testing.T) {
	top := load(t, header+`    - name: vc
      tags: [{category: k8s-region, name: root}]
      folders: [{path: f, tags: [{category: k8s-zone, name: in-f}]}]
      datacenters:
        - name: dc
          folder: f/g
          clusters:
            - {name: c, tags: [{category: k8s-zone, name: in-c}], hosts: [{name: "esx-{n}", replicas: 2, tags: [{category: k8s-region, name: "on-{n}"}]}]}
          hosts: [{name: alone}]
          vms: [{name: a, replicas: 2, cluster: c}, {name: b, host: alone}]
`)
	want := map[string]topology.Place{
		"a-1": {Region: "on-1", Zone: "in-c"},
		"a-2": {Region: "on-2", Zone: "in-c"},
		"b":   {Region: "root", Zone: "in-f"},
	}
	got := map[string]topology.Place{}
	for ref := range top.AllVMs() {
		got[ref.VM.Name] = top.Place(ref)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
}

// Of the VMs that report one hostname, the first is the node.
func TestNodesOfOneName(t *testing.T) {
	text := strings.Replace(header, "spec:\n", "spec:\n  allowDuplicate: [hostname]\n", 1) + `    - name: vc
      datacenters:
        - name: dc
          hosts: [{name: esx}]
          vms: [{name: bystander, hostname: w}, {name: first, role: worker, hostname: w}, {name: second, role: worker, hostname: w}]
`
	top := load(t, text)
	if nodes := top.Nodes(); len(nodes) != 1 || nodes[0].VM.Name != "first" {
		t.Errorf("nodes are %+v, want the first VM of that name", nodes)
	}
	if got := top.Count().Nodes; got != 1 {
		t.Errorf("counts %d nodes, want 1", got)
	}
	if !top.Spec.AllowsDuplicate(topology.DuplicateHostname) || top.Spec.AllowsDuplicate(topology.DuplicateUUID) {
		t.Error("Allows is wrong")
	}
}

func TestAllCategories(t *testing.T) {
	top := load(t, strings.Replace(header, "spec:\n", `spec:
  tagCategories:
    - {name: team, cardinality: multiple}
    - {name: k8s-zone, types: [HostSystem], cardinality: multiple}
`, 1)+"    - {name: vc, datacenters: [{name: dc}]}\n")
	want := []topology.TagCategory{
		{
			Name: "k8s-region", Description: "Regions of Kubernetes nodes", Cardinality: topology.CardinalitySingle,
			Types: []string{"Datacenter", "Folder", "ClusterComputeResource", "ComputeResource", "HostSystem"},
		},
		{Name: "k8s-zone", Description: "Zones of Kubernetes nodes", Cardinality: topology.CardinalityMultiple, Types: []string{"HostSystem"}},
		{Name: "team", Cardinality: topology.CardinalityMultiple},
	}
	if diff := cmp.Diff(want, top.Spec.AllCategories()); diff != "" {
		t.Errorf("categories (-want +got):\n%s", diff)
	}
	top.Spec.Categories = topology.Categories{}
	want = []topology.TagCategory{want[2], want[1]}
	want[1].Description = ""
	if diff := cmp.Diff(want, top.Spec.AllCategories()); diff != "" {
		t.Errorf("without those of regions and zones (-want +got):\n%s", diff)
	}
}

func TestNetworks(t *testing.T) {
	dc := &load(t, header+`    - name: vc
      datacenters:
        - name: dc
          networks: [{name: plain}]
          switches: [{name: dvs, hosts: [esx-1], portGroups: [{name: pg, cidr: 10.0.0.0/24}]}]
          hosts: [{name: esx, replicas: 2}]
`).Spec.VCenters[0].Datacenters[0]
	if sw, network := dc.Network("plain"); sw != nil || network == nil || network.Gateway().IsValid() {
		t.Errorf("plain is %v of %v", network, sw)
	}
	sw, network := dc.Network("pg")
	if sw == nil || network == nil || network.Gateway().String() != "10.0.0.1" {
		t.Fatalf("pg is %v of %v", network, sw)
	}
	if !sw.Has("", "esx-1") || sw.Has("", "esx-2") {
		t.Error("Has is wrong")
	}
	if sw, network := dc.Network("dvs"); sw != nil || network != nil {
		t.Errorf("dvs is %v of %v, want nothing: it is a switch", network, sw)
	}
}

// addressesByVM are the addresses of a datacenter with a network that has 253.
func addressesByVM(t *testing.T, vms string) map[string]string {
	t.Helper()
	got := map[string]string{}
	for ref := range load(t, header+"    - {name: vc, datacenters: [{name: dc, networks: [{name: n, cidr: 10.0.0.0/24}], hosts: [{name: esx}], vms: ["+vms+"]}]}\n").AllVMs() {
		got[ref.VM.Name] = ref.VM.NICs[0].Addresses[0]
	}
	return got
}

// Additional NICs take no address of others, and a larger group changes few.
func TestAddressesOfNetworkStable(t *testing.T) {
	before := addressesByVM(t, "{name: a, replicas: 20}, {name: b, replicas: 20}")
	if again := addressesByVM(t, "{name: a, replicas: 20}, {name: b, replicas: 20}"); !cmp.Equal(before, again) {
		t.Error("the same file gave other addresses")
	}
	after := addressesByVM(t, "{name: a, replicas: 20}, {name: b, replicas: 20}, {name: c, replicas: 100}")
	for name, address := range before {
		if after[name] != address {
			t.Errorf("%s moved from %s to %s because of what comes after it", name, address, after[name])
		}
	}
	moved := 0
	after = addressesByVM(t, "{name: a, replicas: 22}, {name: b, replicas: 20}")
	for name, address := range before {
		if after[name] != address {
			moved++
		}
	}
	if moved > 2 {
		t.Errorf("%d of 40 moved when a group in front grew by 2", moved)
	}
}

// A range is used up to its last address, around those given, and each address once.
func TestAddressesOfNetworkAll(t *testing.T) {
	got := addressesByVM(t, `{name: a, replicas: 252}, {name: z, nics: [{addresses: [10.0.0.9]}]}`)
	seen := map[string]bool{}
	for name, address := range got {
		if seen[address] || !strings.HasPrefix(address, "10.0.0.") || !strings.HasSuffix(address, "/24") {
			t.Errorf("%s has %s", name, address)
		}
		seen[address] = true
	}
	if len(seen) != 253 || seen["10.0.0.0/24"] || seen["10.0.0.1/24"] || seen["10.0.0.255/24"] {
		t.Errorf("%d addresses given out, want the 253 that machines can have", len(seen))
	}
}

func TestDuration(t *testing.T) {
	for in, want := range map[time.Duration]string{
		5 * time.Minute: "5m", time.Hour: "1h", 90 * time.Minute: "1h30m", 90 * time.Second: "1m30s", time.Hour + time.Second: "1h0m1s",
		10 * time.Minute: "10m", 10 * time.Second: "10s", 10 * time.Hour: "10h", 1500 * time.Millisecond: "1.5s", 0: "0s",
	} {
		if got := topology.Duration(in).String(); got != want {
			t.Errorf("%v is written %q, want %q", in, got, want)
		}
		var back topology.Duration
		if err := back.UnmarshalText([]byte(want)); in > 0 && (err != nil || back != topology.Duration(in)) {
			t.Errorf("%q is read as %v, %v", want, back, err)
		}
	}
}

// Lists that replicas would multiply are bounded before they are.
func TestLoadBounded(t *testing.T) {
	many := func(item string, n int) string { return "[" + strings.Repeat(item+", ", n) + "]" }
	host := func(rest string) string {
		return header + "    - {name: v, datacenters: [{name: d, hosts: [{name: e, replicas: 10000, " + rest + "}]}]}\n"
	}
	vm := func(rest string) string {
		return header + "    - {name: v, datacenters: [{name: d, hosts: [{name: e}], vms: [{name: a, replicas: 50000, " + rest + "}]}]}\n"
	}
	for want, file := range map[string]string{
		"hosts[0].tags: are 65, more than the 64 an object can have":           host("tags: " + many("{category: k8s-zone, name: z}", 65)),
		"vms[0].tags: are 65, more than the 64 an object can have":             vm("tags: " + many("{category: k8s-zone, name: z}", 65)),
		"vms[0].permissions: are 70, more than the 64 an object can have":      vm("permissions: " + many("{user: x, role: Admin}", 70)),
		"vms[0].extraConfig: are 513, more than the 512 a VM can have":         vm("extraConfig: " + many("{key: a, value: b}", 513)),
		"vms[0].snapshots: are 33, more than the 32 a VM can have":             vm("snapshots: " + many("{name: a}", 33)),
		"hosts[0].pools: makes more than the 20000 resource pools and vApps":   host("pools: [{name: a, pools: [{name: b}, {name: c}]}]"),
		"vms[0].extraConfig[0].value: must be at most 65536 bytes long":        vm("extraConfig: [{key: a, value: " + strings.Repeat("x", 65537) + "}]"),
		"datacenters[0].networks[5000]: makes more than the 5000 networks":     header + "    - {name: v, datacenters: [{name: d, networks: " + many("{name: n}", 5001) + "}]}\n",
		"datacenters[0].datastores[5000]: makes more than the 5000 datastores": header + "    - {name: v, datacenters: [{name: d, datastores: " + many("{name: n}", 5001) + "}]}\n",
	} {
		_, err := topology.Load("bounded.yaml", []byte(file))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %.300v\nwant something with %q", err, want)
		}
	}
}

// A file that says much of each of very many VMs still loads at once.
func BenchmarkLoadMany(b *testing.B) {
	var stores strings.Builder
	for i := range 100 {
		fmt.Fprintf(&stores, "{name: ds-%d, clusters: [c-%d]}, ", i, i%4+1)
	}
	var clusters strings.Builder
	for i := range 4 {
		fmt.Fprintf(&clusters, "{name: c-%d, pools: [{name: p}], hosts: [{name: \"e-%d-{n}\", replicas: 50}]}, ", i+1, i+1)
	}
	benchmarkLoad(b, []byte(strings.Replace(header, "spec:\n", "spec:\n  tagCategories: [{name: team}]\n", 1)+"    - {name: v, datacenters: [{name: d, networks: [{name: n, cidr: 10.0.0.0/15}, {name: m}], "+
		"switches: [{name: dvs, portGroups: [{name: pg, cidr: \"2001:db8::/64\"}]}], datastores: ["+stores.String()+"], clusters: ["+clusters.String()+"], "+
		"vms: [{name: a, replicas: 50000, spread: hosts, pool: p, folder: \"f-{nn}\", tags: [{category: team, name: \"z-{n}\"}], nics: [{}, {network: m}, {network: pg}]}]}]}\n"))
}
