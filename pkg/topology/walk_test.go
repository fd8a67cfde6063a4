package topology_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

const nested = header + `    - name: vc
      folders:
        - {path: a, region: region-a, zone: zone-a}
        - {path: a/b, zone: zone-b}
      datacenters:
        - name: deep
          folder: a/b
          clusters:
            - {name: tagged, region: region-c, hosts: [{name: esx-1, zone: zone-h}, {name: esx-2}]}
            - {name: plain, hosts: [{name: esx-3}]}
          hosts: [{name: esx-4, region: region-h}]
          vms:
            - {name: v1, host: esx-1, role: worker}
            - {name: v2, host: esx-2, folder: x/y}
            - {name: v3, host: esx-3, role: control-plane}
            - {name: v4, host: esx-4}
        - name: shallow
          folder: a/c
          zone: zone-d
          hosts: [{name: esx-5}]
          vms: [{name: v5}]
    - name: bare
      datacenters: [{name: deep, hosts: [{name: esx-1}], vms: [{name: v6}]}]
`

func TestPlaceNearestWins(t *testing.T) {
	top := load(t, nested)
	want := map[string]topology.Place{
		"v1": {Region: "region-c", Zone: "zone-h"}, // zone from the host, region from its compute cluster
		"v2": {Region: "region-c", Zone: "zone-b"}, // zone from the inner folder
		"v3": {Region: "region-a", Zone: "zone-b"}, // both from folders, different ones
		"v4": {Region: "region-h", Zone: "zone-b"}, // a standalone host
		"v5": {Region: "region-a", Zone: "zone-d"}, // the datacenter before the folder
		"v6": {},
	}
	got := map[string]topology.Place{}
	for ref := range top.AllVMs() {
		got[ref.VM.Name] = top.Place(ref)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
}

func TestWalk(t *testing.T) {
	top := load(t, nested)
	var paths []string
	for ref := range top.AllVMs() {
		paths = append(paths, ref.VCenter.Name+ref.InventoryPath())
		if len(paths) == 5 {
			break // an early end must not upset the walk
		}
	}
	want := []string{"vc/a/b/deep/vm/v1", "vc/a/b/deep/vm/x/y/v2", "vc/a/b/deep/vm/v3", "vc/a/b/deep/vm/v4", "vc/a/c/shallow/vm/v5"}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	var nodes []string
	for _, node := range top.Nodes() {
		nodes = append(nodes, node.VM.Hostname)
	}
	if diff := cmp.Diff([]string{"v1", "v3"}, nodes); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	counts := topology.Counts{VCenters: 2, Datacenters: 3, Clusters: 2, Hosts: 6, VMs: 6, Nodes: 2}
	if diff := cmp.Diff(counts, top.Count()); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if got, want := top.Count().String(), "2 vCenters, 3 datacenters, 6 VMs, 2 nodes"; got != want {
		t.Errorf("summary %q, want %q", got, want)
	}
	if got, want := (topology.Counts{VCenters: 1, Datacenters: 1, VMs: 1}).String(), "1 vCenter, 1 datacenter, 1 VM, 0 nodes"; got != want {
		t.Errorf("summary %q, want %q", got, want)
	}
}

func TestHosts(t *testing.T) {
	dc := &load(t, nested).Spec.VCenters[0].Datacenters[0]
	if cluster, host := dc.Host("esx-2"); host == nil || cluster == nil || cluster.Name != "tagged" {
		t.Errorf("esx-2 is %v in %v, want it in tagged", host, cluster)
	}
	if cluster, host := dc.Host("esx-4"); host == nil || cluster != nil {
		t.Errorf("esx-4 is %v in %v, want it alone", host, cluster)
	}
	if cluster, host := dc.Host("esx-5"); host != nil || cluster != nil {
		t.Errorf("esx-5 is %v in %v, want nothing: it is in another datacenter", host, cluster)
	}
	everywhere, somewhere := topology.Datastore{}, topology.Datastore{Hosts: []string{"esx-1"}, Clusters: []string{"c"}}
	if !everywhere.MountedBy("", "esx-2") || !somewhere.MountedBy("", "esx-1") || !somewhere.MountedBy("c", "esx-3") ||
		somewhere.MountedBy("d", "esx-2") || somewhere.MountedBy("", "esx-2") {
		t.Error("MountedBy is wrong")
	}
}

// VMs of a compute cluster take its hosts in turn, but only those that mount what they need.
func TestPlacement(t *testing.T) {
	top := load(t, header+`    - name: vc
      datacenters:
        - name: dc
          datastores: [{name: fast, hosts: [esx-1, esx-3]}, {name: all}]
          clusters: [{name: c, hosts: [{name: "esx-{n}", replicas: 3}]}]
          vms:
            - {name: any, replicas: 4}
            - {name: fast, replicas: 3, datastore: fast}
            - {name: there, host: esx-2}
`)
	var got []string
	for ref := range top.AllVMs() {
		got = append(got, ref.VM.Name+" "+ref.VM.Cluster+"/"+ref.VM.Host+" "+ref.VM.Datastore)
	}
	want := []string{
		"any-1 c/esx-1 fast", "any-2 c/esx-2 all", "any-3 c/esx-3 fast", "any-4 c/esx-1 fast",
		"fast-1 c/esx-3 fast", "fast-2 c/esx-1 fast", "fast-3 c/esx-3 fast",
		"there c/esx-2 all",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("placement (-want +got):\n%s", diff)
	}
}

// Tag categories are configured if a node has both a region and a zone: one alone is no place.
func TestZoned(t *testing.T) {
	for marks, want := range map[string]bool{
		"": false, "zone: z": false, "region: r": false, "region: r, zone: z": true,
	} {
		for _, role := range []string{"", ", role: worker"} {
			top := load(t, header+`    - name: vc
      datacenters:
        - name: dc
          clusters: [{name: c, hosts: [{name: esx-1}], `+marks+`}]
          vms: [{name: vm`+role+`}]
`)
			if got := top.Zoned(); got != want {
				t.Errorf("%q, %s: %v", marks, role, got)
			}
		}
	}
}
