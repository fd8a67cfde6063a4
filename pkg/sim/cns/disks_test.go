package cns_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vslm"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// attachDisk is AttachDisk_Task.
func (s *server) attachDisk(t testing.TB, vm vc.Ref, id string, on vc.Ref, controller int32, unit *int32) error {
	t.Helper()
	return s.object(vm).AttachDisk(t.Context(), id, object.NewDatastore(s.vim, on), controller, unit)
}

// TestVolumeIsAttachedAsADisk: CNS knows of a volume that a client attaches as the first class disk that it is.
func TestVolumeIsAttachedAsADisk(t *testing.T) {
	s := serve(t, 2, cns.Options{})
	id := s.create(t, spec("pvc", "c", 10))
	is, _ := s.Volume(id)
	other := s.datastores[0]
	if other == is.Datastore {
		other = s.datastores[1]
	}
	if err := s.attachDisk(t, s.vms[0], id, other, 0, nil); !fault.Is(err, new(types.NotFound)) {
		t.Errorf("on another datastore: %v", err)
	}
	if err := s.attachDisk(t, s.vms[0], id, is.Datastore, 0, types.NewInt32(9)); err != nil {
		t.Fatal(err)
	}
	v, _ := s.Volume(id)
	if d := s.diskOn(t, s.vms[0], id); d == nil || v.VM != s.vms[0] || v.Unit != 9 || *d.UnitNumber != 9 {
		t.Errorf("device %+v, volume %+v", d, v)
	}
	refusedWith[*types.ResourceInUse](t, s.attach(t, id, s.vms[1]))
	if err := s.attachDisk(t, s.vms[1], id, is.Datastore, 0, nil); !fault.Is(err, new(types.FileLocked)) {
		t.Errorf("on another VM too: %v", err)
	}
	if err := s.object(s.vms[1]).DetachDisk(t.Context(), id); !fault.Is(err, new(types.NotFound)) {
		t.Errorf("off a VM that it is not on: %v", err)
	}
	if err := s.object(s.vms[0]).DetachDisk(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if v, _ := s.Volume(id); v.VM.Value != "" || s.diskOn(t, s.vms[0], id) != nil || s.consumer(t, id) != "" {
		t.Errorf("still on %v", v.VM)
	}
	c, err := vslm.NewClient(t.Context(), s.vim)
	if err != nil {
		t.Fatal(err)
	}
	task, err := vslm.NewGlobalObjectManager(c).AttachDisk(t.Context(), types.ID{Id: id}, s.object(s.vms[1]), 0, nil)
	if err == nil {
		_, err = task.WaitNonDefault(t.Context(), patience, 1, true, 1)
	}
	if v, _ := s.Volume(id); err != nil || v.VM != s.vms[1] {
		t.Errorf("by vSLM: on %v, %v", v.VM, err)
	}
	s.consistent(t)
}

// TestDiskThatIsNoVolume is on one VM at most too, and registered where it is.
func TestDiskThatIsNoVolume(t *testing.T) {
	s := serve(t, 2, cns.Options{})
	m := vslm.NewObjectManager(s.vim)
	task, err := m.CreateDisk(t.Context(), types.VslmCreateSpec{
		Name: "disk", CapacityInMB: 16, KeepAfterDeleteVm: new(true),
		BackingSpec: &types.VslmCreateSpecDiskFileBackingSpec{VslmCreateSpecBackingSpec: types.VslmCreateSpecBackingSpec{Datastore: s.datastores[0]}},
	})
	if err != nil {
		t.Fatal(err)
	}
	info, err := task.WaitForResult(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	id := info.Result.(types.VStorageObject).Config.Id.Id
	consumer := func() string {
		d, err := m.Retrieve(t.Context(), s.datastores[0], id)
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Config.ConsumerId) == 0 {
			return ""
		}
		return d.Config.ConsumerId[0].Id
	}
	if err := s.attachDisk(t, s.vms[0], id, s.datastores[0], 0, nil); err != nil {
		t.Fatal(err)
	}
	if d := s.diskOn(t, s.vms[0], id); d == nil || d.CapacityInBytes != 16<<20 || consumer() != s.vm(t, s.vms[0]).Config.Uuid {
		t.Errorf("device %+v, consumer %q", d, consumer())
	}
	if err := s.attachDisk(t, s.vms[1], id, s.datastores[0], 0, nil); !fault.Is(err, new(types.FileLocked)) {
		t.Errorf("on another VM too: %v", err)
	}
	s.reconfigure(t, s.vms[0], types.VirtualDeviceConfigSpecOperationRemove, s.diskOn(t, s.vms[0], id))
	waitFor(t, func() bool { return consumer() == "" })
	if err := s.object(s.vms[0]).DetachDisk(t.Context(), id); !fault.Is(err, new(types.NotFound)) {
		t.Errorf("detached twice: %v", err)
	}
	if err := s.attachDisk(t, s.vms[1], id, s.datastores[0], 0, nil); err != nil {
		t.Fatal(err)
	}
	static := spec("static", "c", 0)
	static.BackingObjectDetails = &cnstypes.CnsBlockBackingDetails{BackingDiskId: id}
	fine(t, s.asked(t, static))
	if v, _ := s.Volume(id); v.VM != s.vms[1] {
		t.Errorf("registered on %v", v.VM)
	}
	s.consistent(t)
	fine(t, s.detach(t, id, s.vms[1]))
}

// TestDiskIsDeletedInBetween: a disk that is deleted while it is being attached as a disk is on no VM afterwards.
func TestDiskIsDeletedInBetween(t *testing.T) {
	s := serve(t, 1, cns.Options{})
	for i := range 100 {
		id := s.create(t, spec(fmt.Sprint("pvc-", i), "c", 10))
		v, _ := s.Volume(id)
		var attached error
		var both sync.WaitGroup
		both.Go(func() { attached = s.attachDisk(t, s.vms[0], id, v.Datastore, 0, nil) })
		both.Go(func() { s.remove(t, id) })
		both.Wait()
		_, there := s.Volume(id)
		if has := slices.ContainsFunc(devicesOf(s, s.vms[0]), func(d types.BaseVirtualDevice) bool {
			disk, ok := d.(*types.VirtualDisk)
			return ok && disk.VDiskId != nil && disk.VDiskId.Id == id
		}); has != there {
			t.Fatalf("round %d: attached with %v; a volume: %v, on the VM: %v", i, attached, there, has)
		}
		if there {
			fine(t, s.detach(t, id, s.vms[0]))
		}
	}
}

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
