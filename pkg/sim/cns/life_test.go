package cns_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vslm"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// asked is a creation that may fail.
func (s *server) asked(t testing.TB, spec cnstypes.CnsVolumeCreateSpec) *cnstypes.CnsVolumeCreateResult {
	t.Helper()
	task, err := s.cns.CreateVolume(t.Context(), []cnstypes.CnsVolumeCreateSpec{spec})
	return only(t, task, err).(*cnstypes.CnsVolumeCreateResult)
}

// is reports whether a result has a fault of that type, or one that it is caused by.
func is(r cnstypes.BaseCnsVolumeOperationResult, want types.BaseMethodFault) bool {
	f := r.GetCnsVolumeOperationResult().Fault
	return f != nil && fault.Is(soap.WrapVimFault(f.Fault), want)
}

// change changes properties of an object without CNS.
func (s *server) change(ref vc.Ref, changes ...types.PropertyChange) {
	vc.Set(vc.Fresh(s.ctx), ref, changes...)
}

// freeSpace gives a datastore so many MiB of free space.
func (s *server) freeSpace(ref vc.Ref, mb int64) {
	s.change(ref, vc.P("summary.freeSpace", mb<<20))
}

func (s *server) lose(ref vc.Ref) {
	ds := s.ctx.Map.Get(ref).(*simulator.Datastore)
	mounts := append([]types.DatastoreHostMount(nil), ds.Host...)
	for i := range mounts {
		mounts[i].MountInfo.Accessible = new(false)
	}
	s.change(ref, vc.P("host", mounts))
}

// TestCreationIsOnce: a second call for a name returns the first volume, also when it comes while that is being made; a
// name in another cluster, and one whose volume is gone, are others.
func TestCreationIsOnce(t *testing.T) {
	s := serve(t, 1, cns.Options{})
	ids := make([]string, 8)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() { ids[i] = s.create(t, spec("pvc", "one", 10)) })
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("volumes %v, want one", ids)
		}
	}
	if other := s.create(t, spec("pvc", "two", 10)); other == ids[0] {
		t.Error("two clusters share a volume")
	}
	fine(t, s.remove(t, ids[0]))
	if again := s.create(t, spec("pvc", "one", 10)); again == ids[0] {
		t.Error("a volume has the id of one that is gone")
	}
}

func TestCreationNeeds(t *testing.T) {
	s := serve(t, 1, cns.Options{})
	file := cnstypes.CnsVolumeCreateSpec{Name: "x", VolumeType: "BLOCK"}
	for name, tc := range map[string]struct {
		spec cnstypes.CnsVolumeCreateSpec
		want types.BaseMethodFault
	}{
		"name":      {spec("", "c", 10), new(types.InvalidArgument)},
		"capacity":  {spec("a", "c", 0), new(types.InvalidArgument)},
		"backing":   {file, new(types.InvalidArgument)},
		"datastore": {spec("a", "c", 10, vc.Ref{Type: "Datastore", Value: "datastore-0"}), new(types.ManagedObjectNotFound)},
	} {
		if r := s.asked(t, tc.spec); !is(r, tc.want) {
			t.Errorf("%s: %+v, want %T", name, r.Fault, tc.want)
		}
	}
	task, err := s.cns.CreateVolume(t.Context(), []cnstypes.CnsVolumeCreateSpec{spec("a", "c", 1), spec("b", "c", 1)})
	if err == nil {
		_, err = task.WaitForResult(t.Context())
	}
	if !fault.Is(err, new(types.InvalidArgument)) {
		t.Errorf("two at once: %v", err)
	}
}

// TestPlacement: the datastore with the most space is chosen among the allowed ones; the placements list the others.
func TestPlacement(t *testing.T) {
	gold := vc.Ref{}
	s := serve(t, 1, cns.Options{Compatible: func(policy string, on vc.Ref) bool { return policy == "" || on == gold }})
	a, b, c := s.datastores[0], s.datastores[1], s.datastores[2]
	gold = b
	s.freeSpace(a, 100)
	s.freeSpace(b, 200)
	s.freeSpace(c, 50)
	on := func(r *cnstypes.CnsVolumeCreateResult) vc.Ref {
		t.Helper()
		fine(t, r)
		if n := len(r.PlacementResults[0].PlacementFaults); n != 0 {
			t.Errorf("first placement has %d faults", n)
		}
		v, ok := s.Volume(r.VolumeId.Id)
		if !ok || v.Datastore != r.PlacementResults[0].Datastore {
			t.Errorf("volume is on %v, placed on %v", v.Datastore, r.PlacementResults[0].Datastore)
		}
		return v.Datastore
	}
	if got := on(s.asked(t, spec("v1", "c", 90, a, b, c))); got != b {
		t.Errorf("on %v, want the roomiest", got)
	}
	if got := on(s.asked(t, spec("v2", "c", 30, a, b))); got != b {
		t.Errorf("on %v", got) // 110 left there, 100 here
	}
	if got := on(s.asked(t, spec("v3", "c", 30, a, b))); got != a {
		t.Errorf("on %v, want the one that less is promised of", got)
	}
	r := s.asked(t, spec("v4", "c", 150, a, c))
	if f := refusedWith[*types.NoDiskSpace](t, r); f.Datastore == "" || len(r.PlacementResults) != 2 || len(r.PlacementResults[1].PlacementFaults) != 1 {
		t.Errorf("%+v, placements %+v", f, r.PlacementResults)
	}
	policy := spec("v5", "c", 10)
	policy.Profile = []types.BaseVirtualMachineProfileSpec{&types.VirtualMachineDefinedProfileSpec{ProfileId: "gold"}}
	if got := on(s.asked(t, policy)); got != b {
		t.Errorf("on %v, want the compatible one", got)
	}
	policy.Name, policy.Datastores = "v6", []vc.Ref{a, c}
	if f := refusedWith[*cnstypes.CnsFault](t, s.asked(t, policy)); !strings.Contains(f.Reason, "policy gold") {
		t.Errorf("reason %q", f.Reason)
	}
	s.lose(a)
	refusedWith[*types.InaccessibleDatastore](t, s.asked(t, spec("v7", "c", 10, a)))
	s.change(c, vc.P("summary.maintenanceMode", "inMaintenance"))
	refusedWith[*types.InaccessibleDatastore](t, s.asked(t, spec("v8", "c", 10, c)))
}

// TestDiskOfVolume: each volume has its own disk in vSphere's catalogue, with files and contents, all removed with the volume.
func TestDiskOfVolume(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, 1, cns.Options{Dir: dir})
	one, two := s.create(t, spec("one", "c", 10, s.datastores[0])), s.create(t, spec("two", "c", 20, s.datastores[0]))
	a, _ := s.Volume(one)
	b, _ := s.Volume(two)
	if a.DiskUUID == b.DiskUUID || !strings.HasPrefix(a.DiskUUID, "6000C29") || len(a.DiskUUID) != 36 {
		t.Errorf("disks %q and %q", a.DiskUUID, b.DiskUUID)
	}
	m := vslm.NewObjectManager(s.vim)
	obj, err := m.Retrieve(t.Context(), s.datastores[0], one)
	if err != nil || obj.Config.CapacityInMB != 10 || obj.Config.Name != "one" {
		t.Fatalf("disk %+v, %v", obj, err)
	}
	if size, err := disk.Size(s.Dir(one)); err != nil || size != 10<<20 {
		t.Errorf("content of %d bytes, %v", size, err)
	}
	if got := s.Dir(two); got != filepath.Join(dir, two) {
		t.Errorf("content of %s is in %s", two, got)
	}
	fine(t, s.remove(t, one))
	if _, err := m.Retrieve(t.Context(), s.datastores[0], one); err == nil {
		t.Error("the disk is still there")
	}
	if _, err := os.Stat(s.Dir(one)); !os.IsNotExist(err) {
		t.Errorf("content: %v", err)
	}
	refusedWith[*types.NotFound](t, s.remove(t, one))
}

// TestDiskIsRegistered: a disk whose volume was deleted without it can be a volume again, with its content.
func TestDiskIsRegistered(t *testing.T) {
	s := serve(t, 1, cns.Options{Dir: t.TempDir()})
	id := s.create(t, spec("pvc", "c", 10, s.datastores[0]))
	before, _ := s.Volume(id)
	task, err := s.cns.DeleteVolume(t.Context(), []cnstypes.CnsVolumeId{{Id: id}}, false)
	fine(t, only(t, task, err))
	if len(s.Volumes()) != 0 {
		t.Error("the volume is still there")
	}
	again := spec("static", "c", 0)
	again.BackingObjectDetails = &cnstypes.CnsBlockBackingDetails{BackingDiskId: id}
	fine(t, s.asked(t, again))
	after, _ := s.Volume(id)
	if after.DiskUUID != before.DiskUUID || after.CapacityMB != 10 || after.Path != before.Path || after.Name != "static" {
		t.Errorf("was %+v, is %+v", before, after)
	}
	if f := refusedWith[*cnstypes.CnsAlreadyRegisteredFault](t, s.asked(t, again)); f.VolumeId.Id != id {
		t.Errorf("registered as %q", f.VolumeId.Id)
	}
	again.BackingObjectDetails = &cnstypes.CnsBlockBackingDetails{BackingDiskId: "none"}
	refusedWith[*types.NotFound](t, s.asked(t, again))
}

func TestVolumeIDIsHonoured(t *testing.T) {
	s := serve(t, 1, cns.Options{})
	wanted := spec("pvc", "c", 10)
	wanted.VolumeId = &cnstypes.CnsVolumeId{Id: "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"}
	if id := s.create(t, wanted); id != wanted.VolumeId.Id {
		t.Errorf("id %s", id)
	}
	wanted.Name = "other"
	if f := refusedWith[*cnstypes.CnsVolumeAlreadyExistsFault](t, s.asked(t, wanted)); f.VolumeId.Id != wanted.VolumeId.Id {
		t.Errorf("exists as %q", f.VolumeId.Id)
	}
}

func TestVolumeOfSnapshot(t *testing.T) {
	s := serve(t, 1, cns.Options{Dir: t.TempDir()})
	id := s.create(t, spec("pvc", "c", 10, s.datastores[1]))
	d, err := disk.Open(s.Dir(id))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(d.Data(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.Data(), "file"), []byte("then"), 0o600); err != nil {
		t.Fatal(err)
	}
	taken := s.snapshot(t, id, "s").(*cnstypes.CnsSnapshotCreateResult)
	fine(t, taken)
	if err := os.WriteFile(filepath.Join(d.Data(), "file"), []byte("now"), 0o600); err != nil {
		t.Fatal(err)
	}
	restore := spec("restored", "c", 10)
	restore.VolumeSource = &cnstypes.CnsSnapshotVolumeSource{VolumeId: cnstypes.CnsVolumeId{Id: id}, SnapshotId: taken.Snapshot.SnapshotId}
	made := s.create(t, restore)
	if v, _ := s.Volume(made); v.Datastore != s.datastores[1] {
		t.Errorf("on %v, want where the snapshot is", v.Datastore)
	}
	if b, err := os.ReadFile(filepath.Join(s.Dir(made), "data", "file")); string(b) != "then" {
		t.Errorf("content %q, %v", b, err)
	}
	wrong := restore
	wrong.Name, wrong.BackingObjectDetails = "larger", spec("", "", 20).BackingObjectDetails
	refusedWith[*types.InvalidArgument](t, s.asked(t, wrong))
	wrong = restore
	wrong.Name, wrong.VolumeSource = "none", &cnstypes.CnsSnapshotVolumeSource{VolumeId: cnstypes.CnsVolumeId{Id: id}, SnapshotId: cnstypes.CnsSnapshotId{Id: "x"}}
	refusedWith[*cnstypes.CnsSnapshotNotFoundFault](t, s.asked(t, wrong))
}

func TestDeletionIsRefused(t *testing.T) {
	s := serve(t, 1, cns.Options{})
	id := s.create(t, spec("pvc", "c", 10))
	fine(t, s.attach(t, id, s.vms[0]))
	refusedWith[*types.ResourceInUse](t, s.remove(t, id))
	fine(t, s.detach(t, id, s.vms[0]))
	taken := s.snapshot(t, id, "s").(*cnstypes.CnsSnapshotCreateResult)
	if f := refusedWith[*cnstypes.CnsFault](t, s.remove(t, id)); !strings.Contains(f.Reason, "snapshots") {
		t.Errorf("reason %q", f.Reason)
	}
	fine(t, s.deleteSnapshot(t, id, taken.Snapshot.SnapshotId.Id))
	v, _ := s.Volume(id)
	s.lose(v.Datastore)
	refusedWith[*types.InaccessibleDatastore](t, s.remove(t, id))
}

// devices are the VM's, as a client sees them.
func (s *server) devices(t testing.TB, ref vc.Ref) []types.BaseVirtualDevice {
	t.Helper()
	return s.vm(t, ref).Config.Hardware.Device
}

func (s *server) vm(t testing.TB, ref vc.Ref) (vm mo.VirtualMachine) {
	t.Helper()
	s.get(t, ref, &vm, "name", "config", "datastore", "summary.config")
	return vm
}
