package sim_test

import (
	"os"
	"strings"
	"testing"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/vapi/tags"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// A test of another project: one line for vCenters, another for a client.
func ExampleStart() {
	_ = func(t *testing.T) {
		lab := sim.Start(t, "testdata/zones.yaml")
		client := lab.Client("vc-us")
		vms, err := find.NewFinder(client.Client).VirtualMachineList(t.Context(), "/...")
		if err != nil {
			t.Fatal(err)
		}
		t.Log(len(vms))
	}
}

func TestLab(t *testing.T) {
	lab := sim.Start(t, zones)
	vms, err := find.NewFinder(lab.Client("vc-us").Client).VirtualMachineList(t.Context(), "/...")
	if err != nil || len(vms) != 5 {
		t.Errorf("%d VMs, %v", len(vms), err)
	}
	categories, err := tags.NewManager(lab.REST("vc-eu")).GetCategories(t.Context())
	if err != nil || len(categories) != 2 {
		t.Errorf("categories %v, %v", categories, err)
	}
	conf, err := os.ReadFile(lab.CloudConfigFile())
	if err != nil {
		t.Fatal(err)
	}
	eu, _ := lab.VCenter("vc-eu")
	for _, want := range []string{eu.Host(), eu.Password(), "dceu", "k8s-zone", lab.CAFile} {
		if !strings.Contains(string(conf), want) {
			t.Errorf("cloud config has no %s", want)
		}
	}
}
