package cns_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vslm"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
)

// TestVSLMLooksInBetween ends the process when vSLM reads the catalogue while CNS changes it.
func TestVSLMLooksInBetween(t *testing.T) {
	s := serve(t, 1, cns.Options{})
	c, err := vslm.NewClient(t.Context(), s.vim)
	if err != nil {
		t.Fatal(err)
	}
	disks := vslm.NewGlobalObjectManager(c)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := disks.List(t.Context()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	var id string
	for i := range 30 {
		id = s.create(t, spec(fmt.Sprint("v", i), "one", 8))
		fine(t, s.snapshot(t, id, "s"))
		fine(t, s.attach(t, id, s.vms[0]))
	}
	close(stop)
	wg.Wait()
	d, err := disks.Retrieve(t.Context(), types.ID{Id: id})
	if err != nil || d.Config.CapacityInMB != 8 || len(d.Config.ConsumerId) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	info, err := disks.RetrieveSnapshotInfo(t.Context(), types.ID{Id: id})
	if err != nil || len(info) != 1 || info[0].Description != "s" {
		t.Errorf("%+v, %v", info, err)
	}
}
