package cns_test

import (
	"strings"
	"testing"

	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vslm"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

func (s *server) extend(t testing.TB, id string, mb int64) cnstypes.BaseCnsVolumeOperationResult {
	t.Helper()
	task, err := s.cns.ExtendVolume(t.Context(), []cnstypes.CnsVolumeExtendSpec{{VolumeId: cnstypes.CnsVolumeId{Id: id}, CapacityInMb: mb}})
	return only(t, task, err)
}

// TestExtension makes a volume larger everywhere: record, catalogue, content, and the VM's device.
func TestExtension(t *testing.T) {
	s := serve(t, 1, cns.Options{Dir: t.TempDir()})
	id := s.create(t, spec("pvc", "c", 1024, s.datastores[0]))
	same := func(mb int64, attached bool) {
		t.Helper()
		v, _ := s.Volume(id)
		obj, err := vslm.NewObjectManager(s.vim).Retrieve(t.Context(), s.datastores[0], id)
		if err != nil {
			t.Fatal(err)
		}
		size, err := disk.Size(s.Dir(id))
		if v.CapacityMB != mb || obj.Config.CapacityInMB != mb || size != mb<<20 || err != nil {
			t.Errorf("volume %d, disk %d MiB, content %d bytes, %v; want %d", v.CapacityMB, obj.Config.CapacityInMB, size, err, mb)
		}
		if d := s.diskOn(t, s.vms[0], id); attached && (d.CapacityInBytes != mb<<20 || d.CapacityInKB != mb<<10) {
			t.Errorf("device of %d bytes, %d KiB", d.CapacityInBytes, d.CapacityInKB)
		}
	}
	fine(t, s.extend(t, id, 2048))
	same(2048, false)
	fine(t, s.attach(t, id, s.vms[0]))
	fine(t, s.extend(t, id, 3072))
	same(3072, true)
	fine(t, s.extend(t, id, 3072))
	refusedWith[*types.InvalidArgument](t, s.extend(t, id, 2048))
	refusedWith[*types.NotFound](t, s.extend(t, "none", 2048))
	if info := s.diskOn(t, s.vms[0], id).DeviceInfo.GetDescription(); info.Summary != "3,145,728 KB" || !strings.HasPrefix(info.Label, "Hard disk") {
		t.Errorf("info %+v", info)
	}
	s.freeSpace(s.datastores[0], 100)
	refusedWith[*types.NoDiskSpace](t, s.extend(t, id, 4096))
	s.freeSpace(s.datastores[0], 1<<20)
	s.change(s.vms[0], vc.P("runtime.powerState", types.VirtualMachinePowerStateSuspended))
	refusedWith[*types.InvalidPowerState](t, s.extend(t, id, 4096))
	s.change(s.vms[0], vc.P("runtime.powerState", types.VirtualMachinePowerStatePoweredOn))
	fine(t, s.snapshot(t, id, "s"))
	if f := refusedWith[*cnstypes.CnsFault](t, s.extend(t, id, 4096)); !strings.Contains(f.Reason, "snapshots") {
		t.Errorf("reason %q", f.Reason)
	}
	same(3072, true) // what was refused has left no trace
}

func (s *server) relocate(t testing.TB, id string, to vc.Ref) cnstypes.BaseCnsVolumeOperationResult {
	t.Helper()
	task, err := s.cns.RelocateVolume(t.Context(), cnstypes.NewCnsBlockVolumeRelocateSpec(id, to))
	return only(t, task, err)
}

// TestRelocation moves a volume with all that says where it is, also on a VM.
func TestRelocation(t *testing.T) {
	s := serve(t, 1, cns.Options{})
	a, b, c := s.datastores[0], s.datastores[1], s.datastores[2]
	id := s.create(t, spec("pvc", "c", 10, a))
	uuid := s.Volumes()[0].DiskUUID
	on := func(want, not vc.Ref) {
		t.Helper()
		v, _ := s.Volume(id)
		m := vslm.NewObjectManager(s.vim)
		if _, err := m.Retrieve(t.Context(), want, id); err != nil || v.Datastore != want || v.DiskUUID != uuid {
			t.Errorf("volume %+v, disk %v", v, err)
		}
		if _, err := m.Retrieve(t.Context(), not, id); err == nil {
			t.Error("the disk is still where it was")
		}
		if d := s.diskOn(t, s.vms[0], id); d != nil {
			if back := d.Backing.(*types.VirtualDiskFlatVer2BackingInfo); *back.Datastore != want || back.FileName != v.Path || back.Uuid != uuid {
				t.Errorf("device %+v", back)
			}
		}
	}
	fine(t, s.relocate(t, id, b))
	on(b, a)
	fine(t, s.relocate(t, id, b))
	fine(t, s.attach(t, id, s.vms[0]))
	fine(t, s.relocate(t, id, c))
	on(c, b)
	if got := s.vm(t, s.vms[0]).Datastore; len(got) != 2 {
		t.Errorf("the VM is on %v", got)
	}
	refusedWith[*types.NotFound](t, s.relocate(t, "none", b))
	refusedWith[*types.ManagedObjectNotFound](t, s.relocate(t, id, vc.Ref{Type: "Datastore", Value: "datastore-0"}))
	s.freeSpace(b, 5)
	refusedWith[*types.NoDiskSpace](t, s.relocate(t, id, b))
	s.lose(b)
	refusedWith[*types.InaccessibleDatastore](t, s.relocate(t, id, b))
	if err := s.Relocate(t.Context(), id, b); err == nil {
		t.Error("moved to what is not there")
	}
	on(c, b)
	fine(t, s.detach(t, id, s.vms[0]))
	pin := []cnstypes.CnsVolumeControlFlagsSpec{{VolumeId: cnstypes.CnsVolumeId{Id: id}, ControlFlags: []string{"disableRelocation"}}}
	must[any](t)(nil, s.cns.SetVolumeControlFlags(t.Context(), pin))
	if r := s.relocate(t, id, a); !is(r, new(types.InvalidState)) {
		t.Errorf("relocated although that is disabled: %+v", r)
	}
	must[any](t)(nil, s.cns.ClearVolumeControlFlags(t.Context(), pin))
	fine(t, s.snapshot(t, id, "s"))
	refusedWith[*cnstypes.CnsFault](t, s.relocate(t, id, a))
}
