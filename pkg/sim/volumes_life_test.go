package sim_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	simcns "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
)

// twoRooms has a datacenter with two hosts that share one datastore and have one each.
const twoRooms = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: rooms}
spec:
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          region: r
          zone: z
          clusters: [{name: c1, hosts: [{name: "h-{n}", replicas: 2}]}]
          datastores:
            - {name: shared}
            - {name: one, hosts: [h-1]}
            - {name: two, hosts: [h-2]}
          vms:
            - {name: a, host: h-1, datastore: shared}
            - {name: b, host: h-2, datastore: shared}
`

// rooms are two rooms with a client of CNS.
type rooms struct {
	*sim.Lab
	t       *testing.T
	vcenter *sim.VCenter
	c       *govmomi.Client
	cns     *cns.Client
}

func startRooms(t *testing.T) rooms {
	t.Helper()
	lab := sim.Start(t, twoRooms)
	v, _ := lab.VCenter("vc")
	c := lab.Client("vc")
	volumes, err := cns.NewClient(t.Context(), c.Client)
	if err != nil {
		t.Fatal(err)
	}
	return rooms{lab, t, v, c, volumes}
}

func (r rooms) ref(path string) types.ManagedObjectReference {
	r.t.Helper()
	return ref(r.t, r.c, path)
}

func (r rooms) vm(name string) *object.VirtualMachine {
	r.t.Helper()
	return vm(r.t, r.c, "/dc/vm/"+name)
}

func (r rooms) create(name, datastore string) (id string) {
	r.t.Helper()
	if err := outcome(r.t)(r.cns.CreateVolume(r.t.Context(), block(name, r.ref("/dc/datastore/"+datastore)))); err != nil {
		r.t.Fatal(err)
	}
	for _, v := range r.vcenter.Volumes() {
		if v.Name == name {
			id = v.ID
		}
	}
	return id
}

func (r rooms) attach(id, vm string) error {
	r.t.Helper()
	return outcome(r.t)(r.cns.AttachVolume(r.t.Context(), []cnstypes.CnsVolumeAttachDetachSpec{{
		VolumeId: cnstypes.CnsVolumeId{Id: id}, Vm: r.vm(vm).Reference(),
	}}))
}

func (r rooms) detach(id string, vm types.ManagedObjectReference) error {
	r.t.Helper()
	return outcome(r.t)(r.cns.DetachVolume(r.t.Context(), []cnstypes.CnsVolumeAttachDetachSpec{{
		VolumeId: cnstypes.CnsVolumeId{Id: id}, Vm: vm,
	}}))
}

func (r rooms) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r rooms) is(err error, want types.BaseMethodFault) {
	r.t.Helper()
	if !fault.Is(err, want) {
		r.t.Errorf("got %v, want a %T", err, want)
	}
}

// eventually waits for what another goroutine does.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not so: ", what)
		}
	}
}

// TestVolumeIsWhereItIsSaid: names, content and devices, by what the sandbox and what a client asks.
func TestVolumeIsWhereItIsSaid(t *testing.T) {
	r := startRooms(t)
	id := r.create("pvc-1", "shared")
	r.ok(r.attach(id, "a"))
	v, ok := r.vcenter.Volume(id)
	if !ok || v.VMName != "a" || v.DatastoreName != "shared" || v.CapacityMB != 1024 || v.VM != r.vm("a").Reference() {
		t.Errorf("volume %+v, %t", v, ok)
	}
	if size, err := disk.Size(r.vcenter.VolumeDir(id)); err != nil || size != 1<<30 {
		t.Errorf("content of %d bytes, %v", size, err)
	}
	if len(r.vcenter.Volumes()) != 1 {
		t.Errorf("volumes %+v", r.vcenter.Volumes())
	}
	devices, err := r.vm("a").Device(t.Context())
	if err != nil || !slices.ContainsFunc(devices, func(d types.BaseVirtualDevice) bool {
		disk, ok := d.(*types.VirtualDisk)
		return ok && disk.VDiskId != nil && disk.VDiskId.Id == id
	}) {
		t.Errorf("devices %v, %v", devices, err)
	}
}

// TestVolumesOfAVMThatEnds are detached and live on, their disks too.
func TestVolumesOfAVMThatEnds(t *testing.T) {
	for name, end := range map[string]func(r rooms, vm *object.VirtualMachine){
		"destroyed":    func(r rooms, vm *object.VirtualMachine) { must(r.t)(vm.Destroy(r.t.Context())) },
		"unregistered": func(r rooms, vm *object.VirtualMachine) { r.ok(vm.Unregister(r.t.Context())) },
		"removed with its host": func(r rooms, _ *object.VirtualMachine) {
			host := object.NewHostSystem(r.c.Client, r.ref("/dc/host/c1/h-1"))
			must(r.t)(host.Disconnect(r.t.Context()))
			must(r.t)(host.Destroy(r.t.Context()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := startRooms(t)
			r.t = t
			id := r.create("pvc-1", "shared")
			r.ok(r.attach(id, "a"))
			gone := r.vm("a")
			must(t)(gone.PowerOff(t.Context()))
			end(r, gone)
			eventually(t, "detached", func() bool { v, ok := r.vcenter.Volume(id); return ok && v.VM.Value == "" })
			r.is(r.detach(id, gone.Reference()), new(types.ManagedObjectNotFound))
			r.ok(r.attach(id, "b"))
			if _, err := os.Stat(r.vcenter.VolumeDir(id)); err != nil {
				t.Error(err)
			}
			var reported bool
			events, _ := r.Events.Read(0, 0)
			for _, e := range events {
				reported = reported || e.Kind == "volume.detached" && e.Object.Name == "pvc-1" && strings.Contains(e.Message, "VM a: it ")
			}
			if !reported {
				t.Error("no event says why it was detached")
			}
		})
	}
}

// TestVolumeMovesWithItsVM: vMotion keeps what is attached, and is refused where the datastore is not mounted; storage
// vMotion takes the volume along, also to another host.
func TestVolumeMovesWithItsVM(t *testing.T) {
	r := startRooms(t)
	id, local := r.create("pvc-1", "shared"), r.create("pvc-2", "one")
	r.ok(r.attach(id, "a"))
	h2 := r.ref("/dc/host/c1/h-2")
	move := func(spec types.VirtualMachineRelocateSpec) error {
		return finish(t)(r.vm("a").Relocate(t.Context(), spec, types.VirtualMachineMovePriorityDefaultPriority))
	}
	r.ok(move(types.VirtualMachineRelocateSpec{Host: &h2}))
	on := func(datastore string) {
		t.Helper()
		v, _ := r.vcenter.Volume(id)
		if v.VMName != "a" || v.DatastoreName != datastore {
			t.Errorf("volume on %s, VM %s", v.DatastoreName, v.VMName)
		}
	}
	on("shared")
	r.is(r.attach(local, "a"), new(types.InvalidDatastore))
	h1, one, two := r.ref("/dc/host/c1/h-1"), r.ref("/dc/datastore/one"), r.ref("/dc/datastore/two")
	r.ok(move(types.VirtualMachineRelocateSpec{Host: &h1}))
	r.ok(move(types.VirtualMachineRelocateSpec{Datastore: &one}))
	eventually(t, "the volume moves with the VM's files", func() bool {
		v, _ := r.vcenter.Volume(id)
		return v.DatastoreName == "one"
	})
	for _, to := range []string{"shared", "one"} {
		r.ok(r.vcenter.RelocateVolume(t.Context(), id, to))
		on(to)
	}
	if err := r.vcenter.RelocateVolume(t.Context(), id, "two"); !fault.Is(err, new(types.InvalidDatastore)) {
		t.Errorf("moved out of reach: %v", err)
	}
	if err := r.vcenter.RelocateVolume(t.Context(), id, "none"); err == nil {
		t.Error("moved to nowhere")
	}
	on("one")
	r.is(move(types.VirtualMachineRelocateSpec{Host: &h2}), new(types.InaccessibleDatastore))
	r.ok(move(types.VirtualMachineRelocateSpec{Host: &h2, Datastore: &two}))
	eventually(t, "the volume moves with the VM to a host that does not mount its datastore", func() bool {
		v, _ := r.vcenter.Volume(id)
		return v.DatastoreName == "two" && v.VMName == "a"
	})
	r.ok(r.vcenter.DetachVolume(t.Context(), id))
	if v, _ := r.vcenter.Volume(id); v.VM.Value != "" {
		t.Errorf("still on %s", v.VMName)
	}
	r.ok(r.vcenter.CNS().Forget(id))
	if _, ok := r.vcenter.Volume(id); ok {
		t.Error("not forgotten")
	}
}

// TestVolumesAndHosts: what is wrong with hosts and datastores is seen by CNS.
func TestVolumesAndHosts(t *testing.T) {
	r := startRooms(t)
	id := r.create("pvc-1", "shared")
	host := r.ref("/dc/host/c1/h-1")
	r.ok(r.vcenter.Hosts().Crash(t.Context(), host))
	if err := r.attach(id, "a"); err == nil {
		t.Error("attached on a host that is not there")
	}
	r.ok(r.attach(id, "b"))
	one := r.ref("/dc/datastore/one")
	r.is(outcome(t)(r.cns.CreateVolume(t.Context(), block("pvc-2", one))), new(types.InaccessibleDatastore))
	two := r.ref("/dc/datastore/two")
	r.ok(r.vcenter.Hosts().Fill(t.Context(), two))
	r.is(outcome(t)(r.cns.CreateVolume(t.Context(), block("pvc-2", two))), new(types.NoDiskSpace))
	shared := r.ref("/dc/datastore/shared")
	r.ok(r.vcenter.Hosts().LoseDatastore(t.Context(), shared))
	r.is(r.detach(id, r.vm("b").Reference()), new(types.InvalidState)) // its home is there, too
	r.ok(r.vcenter.Hosts().RestoreDatastore(t.Context(), shared))
	undo := r.vcenter.CNS().Script(simcns.Rule{Method: "CnsDetachVolume", Fault: new(types.NotSupported)})
	r.is(r.detach(id, r.vm("b").Reference()), new(types.NotSupported))
	undo()
	r.ok(r.detach(id, r.vm("b").Reference()))
}

// TestVolumesHaveCauses: the event of a command is the cause of what it does to volumes.
func TestVolumesHaveCauses(t *testing.T) {
	r := startRooms(t)
	id := r.create("pvc-1", "shared")
	r.ok(r.attach(id, "a"))
	must(t)(r.vm("a").PowerOff(t.Context()))
	after := r.Events.Last()
	release := r.vcenter.Causing("a", 4711)
	must(t)(r.vm("a").Destroy(t.Context()))
	release()
	release = r.vcenter.CNS().Causing(id, 4712)
	r.ok(r.attach(id, "b"))
	release()
	var causes []uint64
	events, _ := r.Events.Read(after, 0)
	for _, e := range events {
		if e.Object.Kind == "Volume" {
			causes = append(causes, e.Cause)
		}
	}
	if !slices.Equal(causes, []uint64{4711, 4712}) {
		t.Errorf("causes %v", causes)
	}
}

// TestVolumesOfTwoVCenters have nothing in common but, perhaps, their names.
func TestVolumesOfTwoVCenters(t *testing.T) {
	lab := sim.Start(t, zones)
	var ids []string
	for _, v := range lab.VCenters() {
		c := lab.Client(v.Name())
		client, err := cns.NewClient(t.Context(), c.Client)
		if err != nil {
			t.Fatal(err)
		}
		if err := outcome(t)(client.CreateVolume(t.Context(), block("pvc"))); err != nil {
			t.Fatal(err)
		}
		all := v.Volumes()
		if len(all) != 1 || slices.Contains(ids, all[0].ID) || filepath.Base(v.VolumeDir(all[0].ID)) != all[0].ID {
			t.Errorf("%s: %+v", v.Name(), all)
		}
		ids = append(ids, all[0].ID)
	}
}

// TestDiskIsOnOneVM: a disk of one VM cannot be added to another.
func TestDiskIsOnOneVM(t *testing.T) {
	r := startRooms(t)
	id := r.create("pvc-1", "shared")
	r.ok(r.attach(id, "a"))
	devices, err := r.vm("a").Device(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(devices, func(d types.BaseVirtualDevice) bool {
		disk, ok := d.(*types.VirtualDisk)
		return ok && disk.VDiskId != nil
	})
	add := func() error {
		return finish(t)(r.vm("b").Reconfigure(t.Context(), types.VirtualMachineConfigSpec{DeviceChange: []types.BaseVirtualDeviceConfigSpec{
			&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: devices[i]},
		}}))
	}
	r.is(add(), new(types.FileLocked))
	r.ok(r.vcenter.DetachVolume(t.Context(), id))
	r.ok(add())
	if v, _ := r.vcenter.Volume(id); v.VMName != "b" {
		t.Errorf("on VM %q", v.VMName)
	}
	asDisk := func(vm string) error {
		return r.vm(vm).AttachDisk(t.Context(), id, object.NewDatastore(r.c.Client, r.ref("/dc/datastore/shared")), 0, nil)
	}
	r.is(asDisk("a"), new(types.FileLocked))
	r.ok(r.vm("b").DetachDisk(t.Context(), id))
	r.ok(asDisk("a"))
	if v, _ := r.vcenter.Volume(id); v.VMName != "a" {
		t.Errorf("as a disk: on VM %q", v.VMName)
	}
}
