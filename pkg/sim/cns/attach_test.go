package cns_test

import (
	"fmt"
	"strings"
	"testing"

	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vslm"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

func (s *server) get(t testing.TB, ref vc.Ref, dst any, paths ...string) {
	t.Helper()
	if err := property.DefaultCollector(s.vim).RetrieveOne(t.Context(), ref, paths, dst); err != nil {
		t.Fatal(err)
	}
}

// diskOn is the volume's disk on a VM, nil when it has none.
func (s *server) diskOn(t testing.TB, vm vc.Ref, id string) *types.VirtualDisk {
	t.Helper()
	for _, d := range s.devices(t, vm) {
		if disk, ok := d.(*types.VirtualDisk); ok && disk.VDiskId != nil && disk.VDiskId.Id == id {
			return disk
		}
	}
	return nil
}

// TestAttachmentIsADevice: the disk is a device of the VM, where CNS reports it, and a property of it.
func TestAttachmentIsADevice(t *testing.T) {
	s := serve(t, 2, cns.Options{})
	id := s.create(t, spec("pvc", "c", 1024, s.datastores[1]))
	before := s.vm(t, s.vms[0])
	r := s.attach(t, id, s.vms[0]).(*cnstypes.CnsVolumeAttachResult)
	fine(t, r)
	v, _ := s.Volume(id)
	d := s.diskOn(t, s.vms[0], id)
	if d == nil {
		t.Fatal("no disk on the VM")
	}
	b, ok := d.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
	if !ok || b.Uuid != v.DiskUUID || r.DiskUUID != v.DiskUUID || b.FileName != v.Path || b.Datastore == nil || *b.Datastore != s.datastores[1] {
		t.Errorf("backing %+v, result %q, volume %+v", d.Backing, r.DiskUUID, v)
	}
	if v.VM != s.vms[0] || v.Controller != d.ControllerKey || v.Unit != *d.UnitNumber || d.CapacityInKB != 1024<<10 {
		t.Errorf("volume %+v, disk %+v", v, d)
	}
	list := object.VirtualDeviceList(s.devices(t, s.vms[0]))
	c, ok := list.FindByKey(d.ControllerKey).(types.BaseVirtualController)
	if !ok || fmt.Sprint(c.GetVirtualController().Device[len(c.GetVirtualController().Device)-1]) != fmt.Sprint(d.Key) {
		t.Errorf("controller %+v", c)
	}
	after := s.vm(t, s.vms[0])
	if after.Summary.Config.NumVirtualDisks != before.Summary.Config.NumVirtualDisks+1 || len(after.Datastore) != 2 {
		t.Errorf("%d disks, datastores %v", after.Summary.Config.NumVirtualDisks, after.Datastore)
	}
	obj, err := vslm.NewObjectManager(s.vim).Retrieve(t.Context(), s.datastores[1], id)
	if err != nil || len(obj.Config.ConsumerId) != 1 || obj.Config.ConsumerId[0].Id != after.Config.Uuid {
		t.Errorf("consumers %+v, %v", obj, err)
	}
	fine(t, s.detach(t, id, s.vms[0]))
	if diff := len(s.devices(t, s.vms[0])) - len(before.Config.Hardware.Device); diff != 0 || len(s.vm(t, s.vms[0]).Datastore) != 1 {
		t.Errorf("%d devices too many, datastores %v", diff, s.vm(t, s.vms[0]).Datastore)
	}
	// The same disk elsewhere.
	fine(t, s.attach(t, id, s.vms[1]))
	if b := s.diskOn(t, s.vms[1], id).Backing.(*types.VirtualDiskFlatVer2BackingInfo); b.Uuid != v.DiskUUID {
		t.Errorf("disk %q was %q", b.Uuid, v.DiskUUID)
	}
}

// TestAttachmentIsAnUpdate: clients that watch a VM's devices get an update.
func TestAttachmentIsAnUpdate(t *testing.T) {
	s := serve(t, 1, cns.Options{})
	id := s.create(t, spec("pvc", "c", 1024))
	begun, seen := make(chan struct{}), make(chan error, 1)
	go func() {
		first := true
		seen <- property.Wait(t.Context(), property.DefaultCollector(s.vim), s.vms[0], []string{"config.hardware.device"}, func([]types.PropertyChange) bool {
			if first {
				first = false
				close(begun)
				return false
			}
			return true
		})
	}()
	<-begun
	fine(t, s.attach(t, id, s.vms[0]))
	if err := <-seen; err != nil {
		t.Error(err)
	}
}

// TestAttachmentIsRefused where vCenter refuses it, in the result of a task that succeeds.
func TestAttachmentIsRefused(t *testing.T) {
	s := serve(t, 2, cns.Options{})
	id := s.create(t, spec("pvc", "c", 10, s.datastores[1]))
	refusedWith[*types.NotFound](t, s.attach(t, "none", s.vms[0]))
	gone := vc.Ref{Type: "VirtualMachine", Value: "vm-0"}
	if f := refusedWith[*types.ManagedObjectNotFound](t, s.attach(t, id, gone)); f.Obj != gone {
		t.Errorf("not found: %v", f.Obj)
	}
	fine(t, s.attach(t, id, s.vms[0]))
	r := s.attach(t, id, s.vms[0])
	if f := refusedWith[*types.ResourceInUse](t, r); f.Name != "volume" || f.Type != "" {
		t.Errorf("in use: type %q, name %q", f.Type, f.Name)
	}
	if said := r.GetCnsVolumeOperationResult().Fault.LocalizedMessage; said != "The resource 'volume' is in use." {
		t.Errorf("says %q", said)
	}
	refusedWith[*types.ResourceInUse](t, s.attach(t, id, s.vms[1]))
	refusedWith[*types.NotFound](t, s.detach(t, id, s.vms[1]))
	if f := refusedWith[*types.ManagedObjectNotFound](t, s.detach(t, id, gone)); f.Obj != gone {
		t.Errorf("not found: %v", f.Obj)
	}
	fine(t, s.detach(t, id, s.vms[0]))
	refusedWith[*types.NotFound](t, s.detach(t, id, s.vms[0]))

	state := func(name string, is, was any) (back func()) {
		s.change(s.vms[0], vc.P(name, is))
		return func() { s.change(s.vms[0], vc.P(name, was)) }
	}
	back := state("runtime.powerState", types.VirtualMachinePowerStateSuspended, types.VirtualMachinePowerStatePoweredOff)
	refusedWith[*types.InvalidPowerState](t, s.attach(t, id, s.vms[0]))
	back()
	fine(t, s.attach(t, id, s.vms[0])) // off is fine
	fine(t, s.detach(t, id, s.vms[0]))
	back = state("runtime.connectionState", types.VirtualMachineConnectionStateDisconnected, types.VirtualMachineConnectionStateConnected)
	if r := s.attach(t, id, s.vms[0]); !is(r, new(types.HostNotConnected)) {
		t.Errorf("host not connected: %+v", r)
	}
	back()
	back = state("runtime.connectionState", types.VirtualMachineConnectionStateInaccessible, types.VirtualMachineConnectionStateConnected)
	refusedWith[*types.InvalidState](t, s.attach(t, id, s.vms[0]))
	back()
	s.lose(s.datastores[1])
	if r := s.attach(t, id, s.vms[0]); !is(r, new(types.InvalidDatastore)) {
		t.Errorf("datastore not there: %+v", r)
	}
}

// TestSlots: a VM takes 255 volumes, and 59 before vSphere 8, on controllers that are added when they are needed, and says what is
// missing.
func TestSlots(t *testing.T) {
	race.SkipSlow(t)
	for version, most := range map[string]int{"8.0.3": 255, "7.0.3": 59} {
		t.Run(version, func(t *testing.T) { testSlots(t, version, most) })
	}
}

func testSlots(t *testing.T, version string, most int) {
	s := serve(t, 1, cns.Options{})
	s.ctx.Map.Get(vim25.ServiceInstance).(*simulator.ServiceInstance).Content.About.Version = version
	taken := map[string]bool{}
	for i := range most {
		id := s.create(t, spec(fmt.Sprint("pvc-", i), "c", 10))
		fine(t, s.attach(t, id, s.vms[0]))
		v, _ := s.Volume(id)
		at := fmt.Sprint(v.Controller, ":", v.Unit)
		if taken[at] || v.Unit == 7 || v.Unit > 15 && most == 59 || v.Unit > 64 {
			t.Errorf("volume %d is at %s", i, at)
		}
		taken[at] = true
	}
	id := s.create(t, spec("pvc-last", "c", 10))
	r := s.attach(t, id, s.vms[0])
	f := refusedWith[*cnstypes.CnsFault](t, r)
	if !is(r, new(types.TooManyDevices)) || !strings.Contains(f.Reason, "missing SCSI controller") {
		t.Errorf("%+v", f)
	}
	keys, labels, controllers := map[int32]bool{}, map[string]bool{}, 0
	for _, d := range s.devices(t, s.vms[0]) {
		v := d.GetVirtualDevice()
		label := v.DeviceInfo.GetDescription().Label
		if keys[v.Key] || labels[label] {
			t.Errorf("key %d or label %q twice", v.Key, label)
		}
		keys[v.Key], labels[label] = true, true
		if _, ok := d.(types.BaseVirtualSCSIController); ok {
			controllers++
		}
	}
	if controllers != 4 {
		t.Errorf("%d controllers", controllers)
	}
	first := s.Volumes()[0]
	fine(t, s.detach(t, first.ID, s.vms[0]))
	fine(t, s.attach(t, id, s.vms[0]))
	if v, _ := s.Volume(id); v.Controller != first.Controller || v.Unit != first.Unit {
		t.Errorf("at %d:%d, want the slot that is free: %d:%d", v.Controller, v.Unit, first.Controller, first.Unit)
	}
}

func TestSlotIsChosen(t *testing.T) {
	s := serve(t, 1, cns.Options{})
	at := func(id string, controller, unit int32) cnstypes.BaseCnsVolumeOperationResult {
		t.Helper()
		task, err := s.cns.AttachVolume(t.Context(), []cnstypes.CnsVolumeAttachDetachSpec{{
			VolumeId: cnstypes.CnsVolumeId{Id: id}, Vm: s.vms[0], ControllerKey: &controller, UnitNumber: &unit,
			DiskMode: string(types.VirtualDiskModeIndependent_persistent), Sharing: string(types.VirtualDiskSharingSharingMultiWriter),
		}})
		return only(t, task, err)
	}
	var controller int32
	for _, d := range s.devices(t, s.vms[0]) {
		if c, ok := d.(types.BaseVirtualSCSIController); ok {
			controller = c.GetVirtualSCSIController().Key
		}
	}
	a, b := s.create(t, spec("a", "c", 10)), s.create(t, spec("b", "c", 10))
	fine(t, at(a, controller, 12))
	if v, _ := s.Volume(a); v.Unit != 12 || v.Controller != controller {
		t.Errorf("at %d:%d", v.Controller, v.Unit)
	}
	if d := s.diskOn(t, s.vms[0], a).Backing.(*types.VirtualDiskFlatVer2BackingInfo); d.DiskMode != "independent_persistent" || d.Sharing != "sharingMultiWriter" {
		t.Errorf("disk %+v", d)
	}
	for _, unit := range []int32{12, 7, 65} {
		if r := at(b, controller, unit); !is(r, new(types.TooManyDevices)) {
			t.Errorf("unit %d: %+v", unit, r)
		}
	}
}

// TestDeviceInfo: the disk has a name, label and summary as vSphere gives them.
func TestDeviceInfo(t *testing.T) {
	s := serve(t, 1, cns.Options{})
	id := s.create(t, spec("pvc", "c", 1024))
	fine(t, s.attach(t, id, s.vms[0]))
	var vm mo.VirtualMachine
	s.get(t, s.vms[0], &vm, "config.hardware.device")
	d := s.diskOn(t, s.vms[0], id)
	list := object.VirtualDeviceList(vm.Config.Hardware.Device)
	if name := list.Name(d); !strings.HasPrefix(name, "disk-") || list.Find(name) == nil {
		t.Errorf("name %q", name)
	}
	if info := d.DeviceInfo.GetDescription(); info.Label != "Hard disk 2" && info.Label != "Hard disk 1" || info.Summary != "1,048,576 KB" {
		t.Errorf("info %+v", info)
	}
}

// TestSnapshotOfVM: a volume that a snapshot of its VM has cannot be detached until that snapshot is removed. One that was attached later can.
func TestSnapshotOfVM(t *testing.T) {
	s := serve(t, 1, cns.Options{})
	held, free := s.create(t, spec("held", "c", 10)), s.create(t, spec("free", "c", 10))
	fine(t, s.attach(t, held, s.vms[0]))
	vm := object.NewVirtualMachine(s.vim, s.vms[0])
	task, err := vm.CreateSnapshot(t.Context(), "backup", "", false, false)
	if err == nil {
		err = task.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	fine(t, s.attach(t, free, s.vms[0]))
	fine(t, s.detach(t, free, s.vms[0]))
	r := s.detach(t, held, s.vms[0])
	f := refusedWith[*cnstypes.CnsFault](t, r)
	if !is(r, new(types.InvalidDeviceSpec)) || !strings.Contains(f.Reason, "Invalid configuration for device '0'") {
		t.Errorf("%+v", f)
	}
	task, err = vm.RemoveAllSnapshot(t.Context(), nil)
	if err == nil {
		err = task.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	fine(t, s.detach(t, held, s.vms[0]))
}
