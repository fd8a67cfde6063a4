package cns_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// check compares what CNS knows with the model.
func (m *model) check(t testing.TB) {
	t.Helper()
	known := 0
	for id, v := range m.volumes {
		got, there := m.s.Volume(id)
		if !v.registered {
			if there {
				t.Fatalf("%s is known", id)
			}
			continue
		}
		known++
		if !there || got.VM != v.vm || got.CapacityMB != v.capacity || got.Datastore != v.datastore || got.Snapshots != len(v.snapshots) {
			t.Fatalf("CNS has %+v, the model %+v", got, *v)
		}
	}
	if n := len(m.s.Volumes()); n != known {
		t.Fatalf("CNS has %d volumes, the model %d", n, known)
	}
}

// slotOf is a place of a disk on a VM.
type slotOf struct {
	vm               vc.Ref
	controller, unit int32
}

// checkEverything compares CNS's records, the devices of VMs, the catalogue of disks and the files, while no operation runs.
// extra are IDs of disks outside CNS.
func checkEverything(t testing.TB, s *server, extra []string) {
	t.Helper()
	volumes := make(map[string]cns.Volume)
	uuids := make(map[string]string)
	for _, v := range s.Volumes() {
		volumes[v.ID] = v
		if other, taken := uuids[v.DiskUUID]; taken {
			t.Fatalf("%s and %s have disk UUID %s", v.ID, other, v.DiskUUID)
		}
		uuids[v.DiskUUID] = v.ID
	}
	listed := must[*cnstypes.CnsQueryResult](t)(s.cns.QueryAllVolume(t.Context(), cnstypes.CnsQueryFilter{}, cnstypes.CnsQuerySelection{}))
	for _, v := range listed.Volumes {
		if _, known := volumes[v.VolumeId.Id]; !known {
			t.Fatalf("a query shows %s, which there is not", v.VolumeId.Id)
		}
	}
	if len(listed.Volumes) != len(volumes) {
		t.Fatalf("a query shows %d of %d volumes", len(listed.Volumes), len(volumes))
	}
	on := make(map[string]vc.Ref)
	slots := make(map[slotOf]bool)
	for _, ref := range s.all("VirtualMachine") {
		for _, d := range devicesOf(s, ref) {
			if dev := d.GetVirtualDevice(); dev.UnitNumber != nil && dev.ControllerKey >= 1000 { // others are vcsim's
				at := slotOf{ref, dev.ControllerKey, *dev.UnitNumber}
				if slots[at] {
					t.Fatalf("two devices at %+v", at)
				}
				slots[at] = true
			}
			disk, ok := d.(*types.VirtualDisk)
			if !ok || disk.VDiskId == nil {
				continue
			}
			v, known := volumes[disk.VDiskId.Id]
			if other, twice := on[v.ID]; twice {
				t.Fatalf("volume %s is on %s and %s", v.ID, other.Value, ref.Value)
			}
			on[v.ID] = ref
			b := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
			if !known || v.VM != ref || v.Controller != disk.ControllerKey || v.Unit != *disk.UnitNumber ||
				b.Uuid != v.DiskUUID || b.FileName != v.Path || disk.CapacityInBytes != v.CapacityMB<<20 {
				t.Fatalf("device %+v %+v on %s, record %+v", disk, b, ref.Value, v)
			}
		}
	}
	for id, v := range volumes {
		if v.VM != on[id] {
			t.Fatalf("volume %s is on VM %q, its device on %q", id, v.VM.Value, on[id].Value)
		}
	}
	var diff string
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) { // the catalogue's consumers follow VMs that end
		diff = cmp.Diff(wantCatalogue(volumes, extra), catalogue(s, extra))
		if diff == "" || time.Now().After(deadline) {
			break
		}
	}
	if diff != "" {
		t.Fatalf("catalogue (-records +is):\n%s", diff)
	}
	for _, ref := range s.datastores {
		checkFiles(t, s, ref, volumes, extra)
	}
}

func devicesOf(s *server, ref vc.Ref) (devices []types.BaseVirtualDevice) {
	if vm, ok := s.ctx.Map.Get(ref).(*simulator.VirtualMachine); ok {
		vc.Fresh(s.ctx).WithLock(vm, func() { devices = slices.Clone(vm.Config.Hardware.Device) })
	}
	return devices
}

// wantCatalogue is what the catalogue has to say of each disk, in a line.
func wantCatalogue(volumes map[string]cns.Volume, extra []string) map[string]string {
	want := make(map[string]string)
	for id, v := range volumes {
		want[id] = fmt.Sprintf("on %s, %d MiB, %d snapshots, used: %v", v.Datastore.Value, v.CapacityMB, v.Snapshots, v.VM != vc.Ref{})
	}
	for _, id := range extra {
		want[id] = "not CNS's"
	}
	return want
}

func catalogue(s *server, extra []string) map[string]string {
	is := make(map[string]string)
	om := s.ctx.Map.VStorageObjectManager()
	vc.Fresh(s.ctx).WithLock(om, func() {
		for ref, disks := range om.Catalog() {
			for id, d := range disks {
				is[id.Id] = fmt.Sprintf("on %s, %d MiB, %d snapshots, used: %v", ref.Value, d.Config.CapacityInMB, len(d.Snapshots), len(d.Config.ConsumerId) > 0)
			}
		}
	})
	for _, id := range extra {
		if _, there := is[id]; there {
			is[id] = "not CNS's"
		}
	}
	return is
}

// checkFiles looks for files of disks that are no more.
func checkFiles(t testing.TB, s *server, ref vc.Ref, volumes map[string]cns.Volume, extra []string) {
	t.Helper()
	ds := s.ctx.Map.Get(ref).(*simulator.Datastore)
	files, err := filepath.Glob(filepath.Join(ds.Summary.Url, "*", "*.vmdk"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		id, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(f), ".vmdk"), "-flat")
		if uuid.Validate(id) != nil {
			continue // a VM's own
		}
		if v, known := volumes[id]; (!known || v.Datastore != ref) && !slices.Contains(extra, id) {
			t.Fatalf("%s is left", f)
		}
	}
	for _, v := range volumes {
		var p object.DatastorePath
		if v.Datastore != ref || !p.FromString(v.Path) {
			continue
		}
		if _, err := os.Stat(filepath.Join(ds.Summary.Url, p.Path)); err != nil {
			t.Fatal(err)
		}
	}
}
