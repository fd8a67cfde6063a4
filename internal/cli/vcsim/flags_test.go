package vcsim

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// flagsOf parses flags as vcsim does.
func flagsOf(t *testing.T, args string) *Flags {
	t.Helper()
	f, set := New(), flag.NewFlagSet(Name, flag.ContinueOnError)
	f.Bind(set)
	if err := set.Parse(strings.Fields(args)); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestTopology(t *testing.T) {
	for args, want := range map[string]topology.Counts{
		"": {VCenters: 1, Datacenters: 1, Clusters: 1, Hosts: 4, VMs: 4},
		// With pools, a cluster's VMs are in them.
		"-dc 2 -cluster 2 -pool 1 -app 1 -ds 2 -pg 2 -vm 3": {VCenters: 1, Datacenters: 2, Clusters: 4, Hosts: 14, VMs: 2 * (3 + 2*2*3)},
		"-dc 0":                 {VCenters: 1},
		"-host 0":               {VCenters: 1, Datacenters: 1, Clusters: 1, Hosts: 1, VMs: 2},
		"-vm 0":                 {VCenters: 1, Datacenters: 1, Clusters: 1, Hosts: 4},
		"-cluster 0":            {VCenters: 1, Datacenters: 1, Hosts: 1, VMs: 2},
		"-standalone-host 0":    {VCenters: 1, Datacenters: 1, Clusters: 1, Hosts: 3, VMs: 2},
		"-ds 0 -vm 0":           {VCenters: 1, Datacenters: 1, Clusters: 1, Hosts: 4},
		"-pg 0":                 {VCenters: 1, Datacenters: 1, Clusters: 1, Hosts: 4, VMs: 4},
		"-pg 0 -pg-nsx 1":       {VCenters: 1, Datacenters: 1, Clusters: 1, Hosts: 4, VMs: 4},
		"-folder 3 -dc 2":       {VCenters: 1, Datacenters: 2, Clusters: 2, Hosts: 8, VMs: 8},
		"-autostart=false":      {VCenters: 1, Datacenters: 1, Clusters: 1, Hosts: 4, VMs: 4},
		"-folder 1 -dc 2 -vm 0": {VCenters: 1, Datacenters: 2, Clusters: 2, Hosts: 8},
	} {
		top, err := flagsOf(t, args).Topology()
		if err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		if d := cmp.Diff(want, top.Count()); d != "" {
			t.Errorf("%s (-want +got):\n%s", args, d)
		}
		if c := top.Spec.AllCategories(); len(c) != 0 {
			t.Errorf("%s: tag categories %v that no one made", args, c)
		}
	}
	top, err := flagsOf(t, "-dc 2 -folder 1 -cluster 1 -pool 1").Topology()
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for vm := range top.AllVMs() {
		paths = append(paths, vm.InventoryPath())
	}
	for _, want := range []string{"/DC0/vm/DC0_H0_VM0", "/F0/DC1/vm/F0/DC1_C0_RP1_VM1"} {
		if !slices.Contains(paths, want) {
			t.Errorf("no %s, as vcsim names it, in %q", want, paths)
		}
	}
}
