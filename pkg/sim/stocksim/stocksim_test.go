package stocksim_test

import (
	"testing"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/stocksim"
)

func TestStart(t *testing.T) {
	s, err := stocksim.Start(2, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Remove()
	c, err := govmomi.NewClient(t.Context(), s.URL(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	vms, err := find.NewFinder(c.Client).VirtualMachineList(t.Context(), "/DC0/vm/*")
	if err != nil || len(vms) != 3 {
		t.Errorf("%d VMs, %v", len(vms), err)
	}
}
