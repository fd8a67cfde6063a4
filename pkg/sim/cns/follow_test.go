package cns_test

import (
	"slices"
	"testing"

	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vslm"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// done waits for a task that has to succeed.
func done(t testing.TB) func(*object.Task, error) {
	return func(task *object.Task, err error) {
		t.Helper()
		if err == nil {
			err = task.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (s *server) object(ref vc.Ref) *object.VirtualMachine {
	return object.NewVirtualMachine(s.vim, ref)
}

// reconfigure changes a device of a VM, as a person does.
func (s *server) reconfigure(t testing.TB, vm vc.Ref, op types.VirtualDeviceConfigSpecOperation, d types.BaseVirtualDevice) {
	t.Helper()
	done(t)(s.object(vm).Reconfigure(t.Context(), types.VirtualMachineConfigSpec{
		DeviceChange: []types.BaseVirtualDeviceConfigSpec{&types.VirtualDeviceConfigSpec{Operation: op, Device: d}},
	}))
}

// consumer returns the consumer of a disk in the catalogue, or "".
func (s *server) consumer(t testing.TB, id string) string {
	t.Helper()
	v, _ := s.Volume(id)
	obj, err := vslm.NewObjectManager(s.vim).Retrieve(t.Context(), v.Datastore, id)
	if err != nil {
		t.Fatal(err)
	}
	if len(obj.Config.ConsumerId) == 0 {
		return ""
	}
	return obj.Config.ConsumerId[0].Id
}

// TestAnotherClientMovesADisk: CNS sees disks that are detached and attached without it.
func TestAnotherClientMovesADisk(t *testing.T) {
	log := event.NewLog(0)
	s := serve(t, 2, cns.Options{Events: log})
	id := s.create(t, spec("pvc", "c", 10))
	fine(t, s.attach(t, id, s.vms[0]))
	d := s.diskOn(t, s.vms[0], id)
	s.reconfigure(t, s.vms[0], types.VirtualDeviceConfigSpecOperationRemove, d)
	if v, _ := s.Volume(id); v.VM.Value != "" {
		t.Errorf("still on %v", v.VM)
	}
	waitFor(t, func() bool { return s.consumer(t, id) == "" })
	refusedWith[*types.NotFound](t, s.detach(t, id, s.vms[0]))

	d.ControllerKey, d.UnitNumber = 0, nil
	for _, o := range s.devices(t, s.vms[1]) {
		if c, ok := o.(types.BaseVirtualSCSIController); ok {
			d.ControllerKey, d.UnitNumber = c.GetVirtualSCSIController().Key, types.NewInt32(9)
		}
	}
	d.Key = -1
	s.reconfigure(t, s.vms[1], types.VirtualDeviceConfigSpecOperationAdd, d)
	v, _ := s.Volume(id)
	if v.VM != s.vms[1] || v.Unit != 9 {
		t.Errorf("on %v, unit %d", v.VM, v.Unit)
	}
	uuid := s.vm(t, s.vms[1]).Config.Uuid
	waitFor(t, func() bool { return s.consumer(t, id) == uuid })
	refusedWith[*types.ResourceInUse](t, s.attach(t, id, s.vms[0]))
	fine(t, s.detach(t, id, s.vms[1]))
	kinds := kindsOf(log)
	for _, want := range []string{"volume.created", "volume.attached", "volume.detached"} {
		if !slices.Contains(kinds, want) {
			t.Errorf("events %v, without %s", kinds, want)
		}
	}
}

func kindsOf(log *event.Log) (kinds []string) {
	all, _ := log.Read(0, 0)
	for _, e := range all {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

// TestVMGoesAway: its volumes are free. Those that are not to outlive it are gone when it is destroyed; unregistering deletes
// nothing.
func TestVMGoesAway(t *testing.T) {
	for _, test := range []struct {
		name    string
		away    func(*testing.T, *server)
		deletes bool
	}{
		{"unregistered", func(t *testing.T, s *server) {
			if err := s.object(s.vms[0]).Unregister(t.Context()); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"destroyed", func(t *testing.T, s *server) { done(t)(s.object(s.vms[0]).Destroy(t.Context())) }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, 2, cns.Options{})
			kept, mortal := s.create(t, spec("kept", "c", 10)), s.create(t, spec("mortal", "c", 10))
			task, err := s.cns.DeleteVolume(t.Context(), []cnstypes.CnsVolumeId{{Id: mortal}}, false)
			fine(t, only(t, task, err))
			s.mortal(mortal)
			again := spec("mortal", "c", 0)
			again.BackingObjectDetails = &cnstypes.CnsBlockBackingDetails{BackingDiskId: mortal}
			fine(t, s.asked(t, again))
			for _, id := range []string{kept, mortal} {
				fine(t, s.attach(t, id, s.vms[0]))
			}
			done(t)(s.object(s.vms[0]).PowerOff(t.Context()))
			test.away(t, s)
			if test.deletes {
				waitFor(t, func() bool { _, there := s.Volume(mortal); return !there })
			} else {
				waitFor(t, func() bool { return s.consumer(t, mortal) == "" })
				fine(t, s.attach(t, mortal, s.vms[1]))
			}
			if v, ok := s.Volume(kept); !ok || v.VM.Value != "" {
				t.Errorf("volume %+v, %t", v, ok)
			}
			refusedWith[*types.ManagedObjectNotFound](t, s.detach(t, kept, s.vms[0]))
			waitFor(t, func() bool { return s.consumer(t, kept) == "" })
			fine(t, s.attach(t, kept, s.vms[1]))
		})
	}
}

// TestMortalVolumeThatCannotBeDeleted stays when its VM is destroyed, and has no consumer then.
func TestMortalVolumeThatCannotBeDeleted(t *testing.T) {
	s := serve(t, 1, cns.Options{})
	id := s.create(t, spec("a", "c", 10))
	must[any](t)(nil, s.cns.ClearVolumeControlFlags(t.Context(), []cnstypes.CnsVolumeControlFlagsSpec{{
		VolumeId: cnstypes.CnsVolumeId{Id: id}, ControlFlags: []string{string(cnstypes.CnsVolumeControlFlagsKeepAfterDeleteVm)},
	}}))
	fine(t, s.snapshot(t, id, "it keeps the volume"))
	fine(t, s.attach(t, id, s.vms[0]))
	vm := s.ctx.Map.Get(s.vms[0]).(*simulator.VirtualMachine)
	vc.Fresh(s.ctx).WithLock(vm, func() { s.Destroying(vm.Self) })
	waitFor(t, func() bool { return !used(s, id) })
	if v, there := s.Volume(id); !there || v.VM != (vc.Ref{}) {
		t.Errorf("volume %+v, %t", v, there)
	}
}

// mortal makes a disk of the catalogue one that goes with its VM.
func (s *server) mortal(id string) {
	ctx := vc.Fresh(s.ctx)
	m := ctx.Map.VStorageObjectManager()
	ctx.WithLock(m, func() {
		for _, disks := range m.Catalog() {
			if d := disks[types.ID{Id: id}]; d != nil {
				d.Config.KeepAfterDeleteVm = new(false)
			}
		}
	})
}

// TestForgottenVolumeIsFound: when its disk is registered again CNS sees where it is.
func TestForgottenVolumeIsFound(t *testing.T) {
	s := serve(t, 2, cns.Options{})
	id := s.create(t, spec("pvc", "c", 10))
	fine(t, s.attach(t, id, s.vms[1]))
	if err := s.Forget(id); err != nil {
		t.Fatal(err)
	}
	refusedWith[*types.NotFound](t, s.detach(t, id, s.vms[1]))
	if s.diskOn(t, s.vms[1], id) == nil {
		t.Error("the disk is gone")
	}
	again := spec("pvc", "c", 0)
	again.BackingObjectDetails = &cnstypes.CnsBlockBackingDetails{BackingDiskId: id}
	fine(t, s.asked(t, again))
	if v, _ := s.Volume(id); v.VM != s.vms[1] {
		t.Errorf("on %v", v.VM)
	}
	if err := s.Detach(t.Context(), id); err != nil {
		t.Error(err)
	}
	if err := s.Detach(t.Context(), id); err == nil {
		t.Error("detached from none")
	}
	if err := s.Forget("none"); err == nil {
		t.Error("forgotten what was not there")
	}
}

// TestCloneHasItsOwnDisks: a clone's copy of a volume's disk is not the volume.
func TestCloneHasItsOwnDisks(t *testing.T) {
	s := serve(t, 1, cns.Options{})
	id := s.create(t, spec("pvc", "c", 10))
	fine(t, s.attach(t, id, s.vms[0]))
	vm := s.object(s.vms[0])
	folder := object.NewFolder(s.vim, *s.ctx.Map.Get(s.vms[0]).(mo.Entity).Entity().Parent)
	task, err := vm.Clone(t.Context(), folder, "clone", types.VirtualMachineCloneSpec{})
	if err != nil {
		t.Fatal(err)
	}
	info, err := task.WaitForResult(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	clone := info.Result.(vc.Ref)
	waitFor(t, func() bool { return s.diskOn(t, clone, id) == nil })
	if n := len(object.VirtualDeviceList(s.devices(t, clone)).SelectByType((*types.VirtualDisk)(nil))); n != 2 {
		t.Errorf("the clone has %d disks", n)
	}
	if v, _ := s.Volume(id); v.VM != s.vms[0] {
		t.Errorf("on %v", v.VM)
	}
}
