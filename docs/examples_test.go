package docs

import (
	"testing"

	"github.com/vmware/govmomi/find"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// The example with every feature of a topology can be built, for every number of workers that it allows.
func TestCompleteExample(t *testing.T) {
	for _, workers := range []string{"1", "3", "5"} {
		t.Run(workers, func(t *testing.T) {
			top, err := topology.LoadFile("examples/complete.yaml",
				topology.Setting{Name: "site", Value: "lab"}, topology.Setting{Name: "workers", Value: workers})
			if err != nil {
				t.Fatal(err)
			}
			text, err := topology.Marshal(top)
			if err != nil {
				t.Fatal(err)
			}
			lab := sim.Start(t, string(text))
			finder := find.NewFinder(lab.Client("west").Client)
			vms, err := finder.VirtualMachineList(t.Context(), "/america/lab/vm/...")
			if err != nil {
				t.Fatal(err)
			}
			if got, want := len(vms), top.Count().VMs; got != want {
				t.Errorf("%d VMs, want %d", got, want)
			}
			for _, path := range []string{"compute/Resources/production/web", "old/Resources/legacy"} {
				if _, err := finder.ResourcePool(t.Context(), "/america/lab/host/"+path); err != nil {
					t.Error(err)
				}
			}
			if _, err := finder.VirtualApp(t.Context(), "/america/lab/host/compute/Resources/production/shop"); err != nil {
				t.Error(err)
			}
			worker, err := finder.VirtualMachine(t.Context(), "/america/lab/vm/kubernetes/worker-1")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := worker.FindSnapshot(t.Context(), "installed/joined"); err != nil {
				t.Error(err)
			}
		})
	}
}
