package sim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// Every correction can be left out, and all of them together: the vCenter still works as well as vcsim does.
func TestStock(t *testing.T) {
	sets := [][]stock.Behavior{stock.All()}
	for _, b := range stock.All() {
		sets = append(sets, []stock.Behavior{b})
	}
	for _, set := range sets {
		name := "all"
		if len(set) == 1 {
			name = string(set[0])
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			names := make([]string, len(set))
			for i, b := range set {
				names[i] = string(b)
			}
			lab := sim.Start(t, fmt.Sprintf(strings.Replace(zones, "spec:", "spec:\n  stock: [%s]", 1), strings.Join(names, ", ")))
			client := lab.Client("vc-eu")
			vm, err := find.NewFinder(client.Client).VirtualMachine(t.Context(), "/dceu/vm/worker-4")
			if err != nil {
				t.Fatal(err)
			}
			found, err := object.NewSearchIndex(client.Client).FindByUuid(t.Context(), nil, vm.UUID(t.Context()), true, nil)
			if err != nil || found == nil || found.Reference() != vm.Reference() {
				t.Errorf("found %v, %v", found, err)
			}
			must(t)(vm.PowerOff(t.Context()))
			must(t)(vm.PowerOn(t.Context()))
			must(t)(vm.PowerOff(t.Context()))
			must(t)(vm.Destroy(t.Context()))
		})
	}
}

// TestStockShows: stock behavior differs from corrected behavior.
func TestStockShows(t *testing.T) {
	lab := sim.Start(t, strings.Replace(zones, "spec:", "spec:\n  stock: [search-scope]", 1))
	client := lab.Client("vc-us")
	vm := vm(t, client, "/americas/dcwest/vm/k8s/worker-1")
	east, err := find.NewFinder(client.Client).Datacenter(t.Context(), "/americas/dceast")
	if err != nil {
		t.Fatal(err)
	}
	found, err := object.NewSearchIndex(client.Client).FindByUuid(t.Context(), east, vm.UUID(t.Context()), true, nil)
	if err != nil || found == nil {
		t.Errorf("stock vcsim finds VMs of other datacenters; found %v, %v", found, err)
	}
}
