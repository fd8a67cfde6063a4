package scenarios_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// want says, for every scenario, what it holds and where each node is: vCenter, datacenter, host, region, zone.
var want = map[string]struct {
	summary string
	nodes   map[string]string
}{
	"zones-us-eu": {"2 vCenters, 3 datacenters, 6 VMs, 6 nodes", map[string]string{
		"cp-1":          "us dcwest esx-west-1 us us-west",
		"worker-west-1": "us dcwest esx-west-2 us us-west",
		"worker-east-1": "us dceast esx-east-1 us us-east",
		"worker-east-2": "us dceast esx-east-2 us us-east",
		"worker-eu-1":   "eu dceu esx-eu-1 eu eu-all",
		"worker-eu-2":   "eu dceu esx-eu-2 eu eu-all",
	}},
	"single": {"1 vCenter, 1 datacenter, 2 VMs, 2 nodes", map[string]string{
		"worker-1": "vc dc esx-1 - -",
		"worker-2": "vc dc esx-2 - -",
	}},
	"zones-stretched": {"1 vCenter, 1 datacenter, 6 VMs, 5 nodes", map[string]string{
		"cp-1":       "vc dc esx-a-1 region-1 site-a",
		"worker-a-1": "vc dc esx-a-2 region-1 site-a",
		"worker-a-2": "vc dc esx-a-1 region-1 site-a",
		"worker-b-1": "vc dc esx-b-1 region-1 site-b",
		"worker-b-2": "vc dc esx-b-2 region-1 site-b",
	}},
	"supervisor": {"1 vCenter, 1 datacenter, 5 VMs, 4 nodes", map[string]string{
		"cp-1":       "vc dc esx-a-1 region-1 zone-a",
		"worker-a-1": "vc dc esx-a-2 region-1 zone-a",
		"worker-b-1": "vc dc esx-b-1 region-1 zone-b",
		"worker-c-1": "vc dc esx-c-1 region-1 zone-c",
	}},
	"zones-per-cluster": {"1 vCenter, 1 datacenter, 7 VMs, 7 nodes", map[string]string{
		"cp-1":       "vc dc esx-a-1 region-1 zone-a",
		"worker-a-1": "vc dc esx-a-2 region-1 zone-a",
		"worker-a-2": "vc dc esx-a-1 region-1 zone-a",
		"worker-b-1": "vc dc esx-b-1 region-1 zone-b",
		"worker-b-2": "vc dc esx-b-2 region-1 zone-b",
		"worker-c-1": "vc dc esx-c-1 region-1 zone-c",
		"worker-c-2": "vc dc esx-c-2 region-1 zone-c",
	}},
}

func TestScenarios(t *testing.T) {
	for _, name := range scenarios.Names() {
		t.Run(name, func(t *testing.T) {
			top, err := scenarios.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			if top.Metadata.Name != name {
				t.Errorf("it calls itself %q", top.Metadata.Name)
			}
			if top.Metadata.Description == "" {
				t.Error("it has no description")
			}
			if got := top.Count().String(); got != want[name].summary {
				t.Errorf("holds %s, want %s", got, want[name].summary)
			}
			nodes := map[string]string{}
			for _, node := range top.Nodes() {
				nodes[node.VM.Hostname] = describe(top, node)
			}
			if diff := cmp.Diff(want[name].nodes, nodes); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
		})
	}
}

func describe(top *topology.Topology, node topology.VMRef) string {
	place := top.Place(node)
	parts := []string{node.VCenter.Name, node.Datacenter.Name, node.VM.Host, place.Region, place.Zone}
	for i, part := range parts {
		if part == "" {
			parts[i] = "-"
		}
	}
	return strings.Join(parts, " ")
}

func TestNames(t *testing.T) {
	names := scenarios.Names()
	if diff := cmp.Diff([]string{"single", "supervisor", "zones-per-cluster", "zones-stretched", "zones-us-eu"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if !slices.Contains(names, scenarios.Default) {
		t.Errorf("the default, %s, is not among %v", scenarios.Default, names)
	}
}

func TestUnknownName(t *testing.T) {
	for _, name := range []string{"nowhere", "", "../scenarios/single", "single.yaml"} {
		_, err := scenarios.Load(name)
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "there are: single, supervisor, zones-per-cluster, zones-stretched, zones-us-eu") {
			t.Errorf("Load(%q): %v", name, err)
		}
	}
}

// The topology printed in the README must load.
func TestREADME(t *testing.T) {
	for i, block := range yamlBlocks(t) {
		if _, err := topology.Load("README.md", []byte(block)); err != nil {
			t.Errorf("block %d: %v", i+1, err)
		}
	}
}

// Scenarios are found by name, with or without their theme.
func TestFind(t *testing.T) {
	for _, name := range []string{"power-off", "lifecycle/power-off"} {
		if e, err := scenarios.Find(name); err != nil || e.Path != "lifecycle/power-off.yaml" || e.Theme != "lifecycle" {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
	for _, name := range []string{"", "zones/power-off", "single", "power-off.yaml"} {
		if e, err := scenarios.Find(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
	if !slices.Contains(scenarios.Themes(), "lifecycle") {
		t.Errorf("themes: %v", scenarios.Themes())
	}
}
