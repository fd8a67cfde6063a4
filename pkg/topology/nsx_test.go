package topology_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// withNSX is a topology with one vCenter and a value of spec.nsx.
func withNSX(nsx string) string {
	return strings.Replace(header, "spec:\n", "spec:\n  nsx: "+nsx+"\n", 1) + "    - {name: vc, datacenters: [{name: dc, hosts: [{name: esx}]}]}\n"
}

// TestNSX: an NSX Manager has defaults for everything, and a topology without one has none.
func TestNSX(t *testing.T) {
	for text, want := range map[string]*topology.NSX{
		"{}": {
			Pools: []topology.NSXPool{{Name: "services"}}, Tier1: "workload", Edge: "edge-cluster", Realization: topology.Duration(100 * time.Millisecond),
		},
		`{pools: [{name: a}, {name: b, ranges: [10.0.0.1-10.0.0.9, "fd00::1-fd00::ff"]}], tier1: t, edge: none, realization: 2s}`: {
			Pools: []topology.NSXPool{{Name: "a"}, {Name: "b", Ranges: []string{"10.0.0.1-10.0.0.9", "fd00::1-fd00::ff"}}},
			Tier1: "t", Edge: topology.NoEdge, Realization: topology.Duration(2 * time.Second),
		},
	} {
		got := load(t, withNSX(text)).Spec.NSX
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	without := strings.Replace(withNSX("x"), "  nsx: x\n", "", 1)
	if got := load(t, without).Spec.NSX; got != nil {
		t.Errorf("a topology without nsx has %+v", got)
	}
}

// TestNSXRefused: each mistake is reported with its field.
func TestNSXRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{tier1: "a b"}`:                    "spec.nsx.tier1",
		`{edge: "A"}`:                       "spec.nsx.edge",
		`{pools: [{name: a}, {name: a}]}`:   "spec.nsx.pools[1].name",
		`{pools: [{}]}`:                     "spec.nsx.pools[0].name",
		`{pools: [{name: a, ranges: [x]}]}`: "must be a range of addresses, such as 10.20.0.10-10.20.0.99",
		`{realization: 0s}`:                 "must be more than no time",
		`{pool: []}`:                        "pool",
		`{pools: [{name: a, ranges: [10.0.0.9-10.0.0.1]}]}`:                     "spec.nsx.pools[0].ranges[0]",
		`{pools: [{name: a, ranges: ["10.0.0.1-fd00::1"]}]}`:                    "spec.nsx.pools[0].ranges[0]",
		`{pools: [{name: a, ranges: [10.0.0.1-10.0.0.9, 10.0.0.9-10.0.0.10]}]}`: "has addresses of another range",
	} {
		_, err := topology.Load("t.yaml", []byte(withNSX(text)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
