package cns_test

import (
	"testing"

	govcns "github.com/vmware/govmomi/cns"
	"github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vslm"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
)

// datastore is the one that a volume is on.
func (s *server) datastore(t testing.TB, id string) object.Reference {
	t.Helper()
	v, ok := s.Volume(id)
	if !ok {
		t.Fatalf("no volume %s", id)
	}
	return v.Datastore
}

func TestControlFlags(t *testing.T) {
	s := serve(t, 1, cns.Options{})
	id := s.create(t, spec("a", "one", 1))
	flags := func(id string, flag ...string) []cnstypes.CnsVolumeControlFlagsSpec {
		return []cnstypes.CnsVolumeControlFlagsSpec{{VolumeId: cnstypes.CnsVolumeId{Id: id}, ControlFlags: flag}}
	}
	tracked := func() cnstypes.CnsVolumeCBTStatus {
		return s.query(t, new(cnstypes.CnsQueryFilter)).Volumes[0].ChangedBlockTracking
	}
	ctx := t.Context()
	must[any](t)(nil, s.cns.SetVolumeControlFlags(ctx, flags(id, "enableChangedBlockTracking", "disableRelocation")))
	if tracked() != "ENABLED" {
		t.Error("changed blocks are not tracked")
	}
	must[any](t)(nil, s.cns.ClearVolumeControlFlags(ctx, flags(id, "enableChangedBlockTracking", "keepAfterDeleteVm")))
	if tracked() != "DISABLED" {
		t.Error("changed blocks are tracked")
	}
	d := must[*types.VStorageObject](t)(vslm.NewObjectManager(s.vim).Retrieve(ctx, s.datastore(t, id), id))
	if *d.Config.KeepAfterDeleteVm || !*d.Config.RelocationDisabled || *d.Config.ChangedBlockTrackingEnabled {
		t.Errorf("catalogue: %+v", d.Config)
	}
	if err := s.cns.SetVolumeControlFlags(ctx, flags("none")); !fault.Is(err, new(types.NotFound)) {
		t.Errorf("no volume: %v", err)
	}
	if err := s.cns.SetVolumeControlFlags(ctx, flags(id, "x")); !fault.Is(err, new(types.InvalidArgument)) {
		t.Errorf("no flag: %v", err)
	}
}

func TestPolicyAndCrypto(t *testing.T) {
	s := serve(t, 1, cns.Options{})
	id := cnstypes.CnsVolumeId{Id: s.create(t, spec("a", "one", 1))}
	set := func(id cnstypes.CnsVolumeId, p types.BaseVirtualMachineProfileSpec) cnstypes.BaseCnsVolumeOperationResult {
		t.Helper()
		task, err := s.cns.ReconfigVolumePolicy(t.Context(), []cnstypes.CnsVolumePolicyReconfigSpec{{VolumeId: id, Profile: []types.BaseVirtualMachineProfileSpec{p}}})
		return only(t, task, err)
	}
	policy := func() string { return s.query(t, new(cnstypes.CnsQueryFilter)).Volumes[0].StoragePolicyId }
	fine(t, set(id, &types.VirtualMachineDefinedProfileSpec{ProfileId: "gold"}))
	if policy() != "gold" {
		t.Error(policy())
	}
	fine(t, set(id, new(types.VirtualMachineEmptyProfileSpec)))
	if policy() != "" {
		t.Error(policy())
	}
	refusedWith[*types.NotFound](t, set(cnstypes.CnsVolumeId{Id: "none"}, new(types.VirtualMachineEmptyProfileSpec)))

	res, err := methods.CnsUpdateVolumeCrypto(t.Context(), s.cns, &cnstypes.CnsUpdateVolumeCrypto{
		This: govcns.CnsVolumeManagerInstance, UpdateSpecs: []cnstypes.CnsVolumeCryptoUpdateSpec{{VolumeId: id}},
	})
	if err != nil {
		t.Fatal(err)
	}
	refusedWith[*types.NotSupported](t, only(t, object.NewTask(s.vim, res.Returnval), nil))
}

func TestUnregister(t *testing.T) {
	s := serve(t, 1, cns.Options{})
	id := s.create(t, spec("a", "one", 64))
	unregister := func(id, as string) cnstypes.BaseCnsVolumeOperationResult {
		t.Helper()
		task, err := s.cns.UnregisterVolume(t.Context(), []cnstypes.CnsUnregisterVolumeSpec{{VolumeId: cnstypes.CnsVolumeId{Id: id}, TargetVolumeType: as}})
		return only(t, task, err)
	}
	fine(t, s.attach(t, id, s.vms[0]))
	refusedWith[*types.ResourceInUse](t, unregister(id, "FCD"))
	fine(t, s.detach(t, id, s.vms[0]))
	on := s.datastore(t, id)
	fine(t, unregister(id, "FCD"))
	refusedWith[*cnstypes.CnsNotRegisteredFault](t, unregister(id, "FCD"))
	must[*types.VStorageObject](t)(vslm.NewObjectManager(s.vim).Retrieve(t.Context(), on, id))

	back := spec("a", "one", 0)
	back.BackingObjectDetails = &cnstypes.CnsBlockBackingDetails{BackingDiskId: id}
	if again := s.create(t, back); again != id {
		t.Errorf("registered as %s, was %s", again, id)
	}
	fine(t, s.snapshot(t, id, "s"))
	refusedWith[*cnstypes.CnsFault](t, unregister(id, "LEGACY_DISK"))
	refusedWith[*types.InvalidArgument](t, unregister(id, "x"))
	fine(t, s.deleteSnapshot(t, id, s.snapshots(t, of(id)).Entries[0].Snapshot.SnapshotId.Id))
	fine(t, unregister(id, "LEGACY_DISK"))
	if _, err := vslm.NewObjectManager(s.vim).Retrieve(t.Context(), on, id); !fault.Is(err, new(types.NotFound)) {
		t.Errorf("the disk is still a first class one: %v", err)
	}
}

// TestSync changes disks behind CNS's back.
func TestSync(t *testing.T) {
	s := serve(t, 1, cns.Options{})
	a, b := s.create(t, spec("a", "one", 64)), s.create(t, spec("b", "one", 64))
	disks := vslm.NewObjectManager(s.vim)
	wait := func(task *object.Task, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if err := task.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	wait(disks.ExtendDisk(t.Context(), s.datastore(t, a), a, 128))
	wait(disks.CreateSnapshot(t.Context(), s.datastore(t, a), a, "by vSLM"))
	wait(disks.Delete(t.Context(), s.datastore(t, b), b))
	sync := func(id string) cnstypes.BaseCnsVolumeOperationResult {
		t.Helper()
		task, err := s.cns.SyncVolume(t.Context(), []cnstypes.CnsSyncVolumeSpec{{VolumeId: cnstypes.CnsVolumeId{Id: id}, SyncMode: []string{"SPACE_USAGE"}}})
		return only(t, task, err)
	}
	fine(t, sync(a))
	if v, _ := s.Volume(a); v.CapacityMB != 128 || v.Snapshots != 1 {
		t.Errorf("%+v", v)
	}
	refusedWith[*types.NotFound](t, sync("none"))

	url := s.query(t, new(cnstypes.CnsQueryFilter)).Volumes[0].DatastoreUrl
	datastore := func(url string) error {
		task, err := s.cns.SyncDatastore(t.Context(), url, true)
		if err != nil {
			return err
		}
		return task.Wait(t.Context())
	}
	must[any](t)(nil, datastore(url))
	must[any](t)(nil, datastore(""))
	if _, there := s.Volume(b); there {
		t.Error("a volume without a disk is still there")
	}
	if err := datastore("ds:///none/"); !fault.Is(err, new(types.InvalidArgument)) {
		t.Errorf("no datastore: %v", err)
	}
}

// TestUnknownMethods are answered as vcsim does.
func TestUnknownMethods(t *testing.T) {
	s := serve(t, 1, cns.Options{})
	_, err := methods.CnsSyncDatastore(t.Context(), s.cns, &cnstypes.CnsSyncDatastore{This: govcns.CnsVolumeManagerInstance})
	if err == nil || !soap.IsSoapFault(err) {
		t.Errorf("error %v", err)
	}
}
