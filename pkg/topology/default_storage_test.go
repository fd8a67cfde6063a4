package topology_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Zones of one datacenter differ in what storage they have; a datacenter that is one zone has one datastore.
func TestDefaultDatastores(t *testing.T) {
	for _, tc := range []struct {
		name, datacenter string
		want             []string
	}{
		{"no zones", `clusters: [{name: c, hosts: [{name: a, replicas: 2}]}]`, []string{"dc-ds 1Ti"}},
		{"one zone, of the datacenter", `zone: z, clusters: [{name: c, hosts: [{name: a}]}], hosts: [{name: b}]`, []string{"dc-ds 1Ti"}},
		{"one zone, of its clusters", `clusters: [{name: c, zone: z, hosts: [{name: a}]}, {name: d, zone: z, hosts: [{name: b}]}]`, []string{"dc-ds 1Ti"}},
		{"no hosts", ``, []string{"dc-ds 1Ti"}},
		{
			"clusters are zones", `clusters: [{name: c, zone: y, hosts: [{name: a, replicas: 2}]}, {name: d, zone: x, hosts: [{name: b}]}, {name: e, zone: y, hosts: [{name: f}]}]`,
			[]string{"dc-ds 1Ti", "y-ds 2Ti clusters c e", "x-ds 2Ti clusters d"},
		},
		{
			"hosts are zones", `zone: rest, clusters: [{name: c, hosts: [{name: "a-{n}", replicas: 2, zone: "z{n}"}, {name: b}]}], hosts: [{name: alone}]`,
			[]string{"dc-ds 1Ti", "z1-ds 2Ti hosts a-1", "z2-ds 2Ti hosts a-2", "rest-ds 2Ti hosts b alone"},
		},
		{
			"tags are zones", `clusters: [{name: c, tags: [{category: k8s-zone, name: y}], hosts: [{name: a}]}, {name: d, zone: x, hosts: [{name: b}]}]`,
			[]string{"dc-ds 1Ti", "y-ds 2Ti clusters c", "x-ds 2Ti clusters d"},
		},
		{
			"some have none", `clusters: [{name: c, zone: y, hosts: [{name: a}]}, {name: d, hosts: [{name: b}]}]`,
			[]string{"dc-ds 1Ti", "y-ds 2Ti clusters c"},
		},
		{
			"names that are taken or cannot be", `clusters: [{name: c, zone: dc, hosts: [{name: a}]}, {name: d, tags: [{category: k8s-zone, name: 1/2}], hosts: [{name: b}]}]`,
			[]string{"dc-ds 1Ti", "dc-zone-ds 2Ti clusters c", "datastore3 2Ti clusters d"},
		},
		{"very many", `hosts: [{name: "a-{n}", replicas: 101, zone: "z{n}"}]`, []string{"dc-ds 1Ti"}},
		{"its own", `datastores: [{name: mine}], clusters: [{name: c, zone: y, hosts: [{name: a}]}, {name: d, zone: x, hosts: [{name: b}]}]`, []string{"mine 1Ti"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			top := load(t, header+"    - {name: vc, datacenters: [{name: dc, "+tc.datacenter+"}]}\n")
			var got []string
			for _, d := range top.Spec.VCenters[0].Datacenters[0].Datastores {
				line := fmt.Sprintf("%s %s", d.Name, d.Capacity)
				if len(d.Clusters) > 0 {
					line += " clusters " + strings.Join(d.Clusters, " ")
				}
				if len(d.Hosts) > 0 {
					line += " hosts " + strings.Join(d.Hosts, " ")
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("datastores (-want +got):\n%s", diff)
			}
		})
	}
}

// Disks of VMs are on what all hosts share.
func TestDefaultDatastoreOfVMs(t *testing.T) {
	top := load(t, header+`    - name: vc
      datacenters:
        - name: dc
          clusters: [{name: c, zone: y, hosts: [{name: a}]}, {name: d, zone: x, hosts: [{name: b}]}]
          vms: [{name: v, cluster: c}, {name: w, cluster: d, datastore: x-ds}]
`)
	for ref := range top.AllVMs() {
		if want := map[string]string{"v": "dc-ds", "w": "x-ds"}[ref.VM.Name]; ref.VM.Datastore != want {
			t.Errorf("%s is on %s, want %s", ref.VM.Name, ref.VM.Datastore, want)
		}
	}
}
