package sim_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/vim25/types"
)

// TestVolumesAreQueriedWhileTheyAreMade ended the process with vcsim's own volume manager.
func TestVolumesAreQueriedWhileTheyAreMade(t *testing.T) {
	s := start(t, zones, nil)
	v := s.vcenter(t, "vc-us")
	c := s.login(t, v)
	client, err := cns.NewClient(t.Context(), c.Client)
	if err != nil {
		t.Fatal(err)
	}
	datastore := ref(t, c, "/americas/dcwest/datastore/shared")
	made := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-made:
					return
				default:
				}
				if _, err := client.QueryVolume(t.Context(), new(cnstypes.CnsQueryFilter)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	const n = 30
	for i := range n {
		task, err := client.CreateVolume(t.Context(), []cnstypes.CnsVolumeCreateSpec{{
			Name:       fmt.Sprintf("pvc-%d", i),
			VolumeType: string(cnstypes.CnsVolumeTypeBlock),
			Datastores: []types.ManagedObjectReference{datastore},
			BackingObjectDetails: &cnstypes.CnsBlockBackingDetails{
				CnsBackingObjectDetails: cnstypes.CnsBackingObjectDetails{CapacityInMb: 1024},
			},
		}})
		if err == nil {
			_, err = task.WaitForResult(t.Context())
		}
		if err != nil {
			t.Error(err)
			break
		}
	}
	close(made)
	wg.Wait()
	all, err := client.QueryVolume(t.Context(), new(cnstypes.CnsQueryFilter))
	if err != nil || len(all.Volumes) != n {
		t.Errorf("%d volumes, %v", len(all.Volumes), err)
	}
}
