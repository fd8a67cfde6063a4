package sim_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
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

func block(name string, on ...types.ManagedObjectReference) []cnstypes.CnsVolumeCreateSpec {
	return []cnstypes.CnsVolumeCreateSpec{{
		Name: name, VolumeType: string(cnstypes.CnsVolumeTypeBlock), Datastores: on,
		BackingObjectDetails: &cnstypes.CnsBlockBackingDetails{
			CnsBackingObjectDetails: cnstypes.CnsBackingObjectDetails{CapacityInMb: 1024},
		},
	}}
}

// outcome returns the fault of a CNS task for its only volume.
func outcome(t *testing.T) func(*object.Task, error) error {
	return func(task *object.Task, err error) error {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		info, err := task.WaitForResult(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		result, err := cns.GetTaskResult(t.Context(), info)
		if err != nil || result == nil {
			t.Fatalf("result %v, %v", result, err)
		}
		if f := result.GetCnsVolumeOperationResult().Fault; f != nil {
			return soap.WrapVimFault(f.Fault)
		}
		return nil
	}
}

// TestVolumesOnWhatIsNotThere ended the process with vcsim's own volume manager.
func TestVolumesOnWhatIsNotThere(t *testing.T) {
	lab := sim.Start(t, guarded)
	c := lab.Client("vc")
	volumes, err := cns.NewClient(t.Context(), c.Client)
	if err != nil {
		t.Fatal(err)
	}
	west := vm(t, c, "/west/vm/west-1")
	must(t)(west.PowerOff(t.Context()))
	must(t)(west.Destroy(t.Context()))
	host := types.ManagedObjectReference{Type: "VirtualMachine", Value: ref(t, c, "/west/host/c1/w-1").Value}
	for _, on := range []types.ManagedObjectReference{west.Reference(), host, {}} {
		if err := outcome(t)(volumes.AttachVolume(t.Context(), []cnstypes.CnsVolumeAttachDetachSpec{{Vm: on}})); !fault.Is(err, new(types.ManagedObjectNotFound)) {
			t.Errorf("attached to %v: %v", on, err)
		}
		if err := outcome(t)(volumes.CreateVolume(t.Context(), block("x", on))); !fault.Is(err, new(types.ManagedObjectNotFound)) {
			t.Errorf("created on %v: %v", on, err)
		}
	}
}

func TestVolumeNamesItsDatastoreAsTheInventoryDoes(t *testing.T) {
	lab := sim.Start(t, guarded)
	c := lab.Client("vc")
	volumes, err := cns.NewClient(t.Context(), c.Client)
	if err != nil {
		t.Fatal(err)
	}
	on := ref(t, c, "/west/datastore/west-ds")
	var ds mo.Datastore
	get(t, c, on, &ds, "summary.url")
	task, err := volumes.CreateVolume(t.Context(), block("pvc", on))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := task.WaitForResult(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, err := volumes.QueryVolume(t.Context(), new(cnstypes.CnsQueryFilter))
	if err != nil {
		t.Fatal(err)
	}
	all, err := volumes.QueryAllVolume(t.Context(), cnstypes.CnsQueryFilter{}, cnstypes.CnsQuerySelection{
		Names: []string{string(cnstypes.QuerySelectionNameTypeDataStoreUrl)},
	})
	if err != nil {
		t.Fatal(err)
	}
	task, err = volumes.QueryVolumeAsync(t.Context(), cnstypes.CnsQueryFilter{Names: []string{"pvc"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	info, err := task.WaitForResult(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	result, err := cns.GetTaskResult(t.Context(), info)
	if err != nil {
		t.Fatal(err)
	}
	async, ok := result.(*cnstypes.CnsAsyncQueryResult)
	if !ok {
		t.Fatalf("result %T", result)
	}
	for how, list := range map[string][]cnstypes.CnsVolume{"query": found.Volumes, "all": all.Volumes, "async": async.QueryResult.Volumes} {
		if len(list) != 1 || list[0].DatastoreUrl != ds.Summary.Url {
			t.Errorf("%s: %+v, want one on %s", how, list, ds.Summary.Url)
		}
	}
}
