package sim_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// vmFacts is what must be the same of a VM in a restored vCenter.
type vmFacts struct {
	Ref, UUID, Instance, Power, HostName, IP string
	Disks                                    []string
}

// vmFacts reads them, by name.
func (r rooms) vmFacts() map[string]vmFacts {
	r.t.Helper()
	all := map[string]vmFacts{}
	for _, name := range []string{"a", "b"} {
		var vm mo.VirtualMachine
		if err := r.vm(name).Properties(r.t.Context(), r.vm(name).Reference(), []string{"config", "runtime", "guest"}, &vm); err != nil {
			r.t.Fatal(err)
		}
		is := vmFacts{
			Ref: vm.Self.Value, UUID: vm.Config.Uuid, Instance: vm.Config.InstanceUuid, Power: string(vm.Runtime.PowerState),
			HostName: vm.Guest.HostName, IP: vm.Guest.IpAddress,
		}
		for _, d := range object.VirtualDeviceList(vm.Config.Hardware.Device).SelectByType((*types.VirtualDisk)(nil)) {
			is.Disks = append(is.Disks, d.GetVirtualDevice().Backing.(*types.VirtualDiskFlatVer2BackingInfo).FileName)
		}
		all[name] = is
	}
	return all
}

func TestSnapshot(t *testing.T) {
	r := startRooms(t)
	ctx := t.Context()
	attached, detached := r.create("pvc-1", "shared"), r.create("pvc-2", "one")
	r.ok(r.attach(attached, "a"))
	if err := outcome(t)(r.cns.CreateSnapshots(ctx, []cnstypes.CnsSnapshotCreateSpec{{VolumeId: cnstypes.CnsVolumeId{Id: detached}, Description: "first"}})); err != nil {
		t.Fatal(err)
	}
	d, err := disk.Open(r.vcenter.VolumeDir(attached))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Format("ext4"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.Data(), "greeting"), []byte("hello"), 0o640); err != nil {
		t.Fatal(err)
	}
	must(t)(r.vm("b").PowerOff(ctx))
	if err := r.vcenter.SetPassword("another one"); err != nil {
		t.Fatal(err)
	}
	specs := object.NewCustomizationSpecManager(r.c.Client)
	if err := specs.CreateCustomizationSpec(ctx, types.CustomizationSpecItem{
		Info: types.CustomizationSpecInfo{Name: "mine", Type: "Linux"},
		Spec: types.CustomizationSpec{Identity: &types.CustomizationLinuxPrep{Domain: "example.com"}},
	}); err != nil {
		t.Fatal(err)
	}

	clone, gold := r.clone("b", "clone"), r.vm("b").Reference()
	origin := r.vcenter.Guests().Origin(clone)
	if uuid := r.uuid(gold); origin == "" || origin != uuid {
		t.Fatalf("the clone comes from %q, not %q", origin, uuid)
	}

	was, volumes := r.vmFacts(), r.vcenter.Volumes()
	dir := filepath.Join(t.TempDir(), "snapshot")
	if err := r.vcenter.Snapshot(ctx, r.c.Client, r.REST("vc"), dir); err != nil {
		t.Fatal(err)
	}

	saved, err := sim.OpenSnapshot(dir)
	if err != nil {
		t.Fatal(err)
	}
	lab := sim.StartWith(t, sim.Options{Topology: r.Topology(), Saved: []*sim.Saved{saved}})
	v, _ := lab.VCenter("vc")
	if v.Password() != "another one" || v.InstanceUUID() != r.vcenter.InstanceUUID() {
		t.Errorf("password %q, instance %s", v.Password(), v.InstanceUUID())
	}
	c := lab.Client("vc")
	again, err := cns.NewClient(ctx, c.Client)
	if err != nil {
		t.Fatal(err)
	}
	restored := rooms{lab, t, v, c, again}
	if diff := cmp.Diff(was, restored.vmFacts()); diff != "" {
		t.Errorf("VMs (-before +restored):\n%s", diff)
	}
	if diff := cmp.Diff(volumes, v.Volumes()); diff != "" {
		t.Errorf("volumes (-before +restored):\n%s", diff)
	}
	text, err := os.ReadFile(filepath.Join(v.VolumeDir(attached), "data", "greeting"))
	if string(text) != "hello" {
		t.Errorf("content of the volume: %q, %v", text, err)
	}
	if found, err := object.NewCustomizationSpecManager(c.Client).GetCustomizationSpec(ctx, "mine"); err != nil || found.Spec.Identity == nil {
		t.Errorf("customization: %v, %v", found, err)
	}

	if now := v.Guests().Origin(clone); now != origin {
		t.Errorf("the clone comes from %q, before %q", now, origin)
	}

	// It works as before: the volume moves, the guest comes back with its address, and no ID is used twice.
	restored.ok(restored.detach(attached, restored.vm("a").Reference()))
	must(t)(restored.vm("b").PowerOn(ctx))
	if now := restored.vmFacts()["b"]; now.Power != "poweredOn" || now.HostName == "" || now.IP == "" {
		t.Errorf("b after power-on: %+v", now)
	}
	restored.ok(restored.attach(attached, "b"))
	if id := restored.create("pvc-1b", "shared"); id == attached || id == detached {
		t.Errorf("ID %s is used again", id)
	}
}

func TestSnapshotIsRefusedWhenDamaged(t *testing.T) {
	r := startRooms(t)
	dir := filepath.Join(t.TempDir(), "snapshot")
	if err := r.vcenter.Snapshot(t.Context(), r.c.Client, r.REST("vc"), dir); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "inventory", "sandbox", "tags.json")
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sim.OpenSnapshot(dir); err == nil {
		t.Error("a changed file was not noticed")
	}
}

// clone clones a VM, powered off.
func (r rooms) clone(source, name string) types.ManagedObjectReference {
	r.t.Helper()
	vm := r.vm(source)
	var at mo.VirtualMachine
	if err := vm.Properties(r.t.Context(), vm.Reference(), []string{"parent"}, &at); err != nil {
		r.t.Fatal(err)
	}
	task, err := vm.Clone(r.t.Context(), object.NewFolder(r.c.Client, *at.Parent), name, types.VirtualMachineCloneSpec{})
	if err != nil {
		r.t.Fatal(err)
	}
	info, err := task.WaitForResult(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return info.Result.(types.ManagedObjectReference)
}

// uuid returns the BIOS UUID of a VM.
func (r rooms) uuid(vm types.ManagedObjectReference) string {
	r.t.Helper()
	var is mo.VirtualMachine
	if err := object.NewVirtualMachine(r.c.Client, vm).Properties(r.t.Context(), vm, []string{"config.uuid"}, &is); err != nil {
		r.t.Fatal(err)
	}
	return is.Config.Uuid
}
