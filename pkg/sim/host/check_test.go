package host_test

import (
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/host"
)

// TestPlacement: a VM goes to a host that can take it, and not to one that cannot.
func TestPlacement(t *testing.T) {
	r := setup(t, host.Options{})
	hosts, vm := r.clustered()
	dc := object.NewDatacenter(r.client, r.base.Map.Any("Datacenter").Reference())
	folders, err := dc.Folders(t.Context())
	must(t, err)
	pool, err := hosts[0].ResourcePool(t.Context())
	must(t, err)
	create := func(name string, on *object.HostSystem) (*object.Task, error) {
		return folders.VmFolder.CreateVM(t.Context(), types.VirtualMachineConfigSpec{
			Name: name, GuestId: "otherGuest", Files: &types.VirtualMachineFileInfo{VmPathName: "[LocalDS_0]"},
		}, pool, on)
	}
	made := func(task *object.Task, err error) ref {
		t.Helper()
		must(t, err)
		info, err := task.WaitForResult(t.Context())
		must(t, err)
		return info.Result.(ref)
	}
	clone := func(name string, to types.VirtualMachineRelocateSpec) (*object.Task, error) {
		return object.NewVirtualMachine(r.client, vm).Clone(t.Context(), folders.VmFolder, name, types.VirtualMachineCloneSpec{Location: to})
	}

	here := r.hostOf(vm)
	one := made(clone("stays", types.VirtualMachineRelocateSpec{}))
	if r.hostOf(one).Reference() != here.Reference() {
		t.Error("a clone went elsewhere without need")
	}
	disconnect(r, hosts[0])
	done(t)(hosts[1].EnterMaintenanceMode(t.Context(), 0, false, nil))
	for range 5 {
		v := made(create("made", nil))
		if got := r.hostOf(v).Reference(); got != hosts[2].Reference() {
			t.Errorf("made on %s", got.Value)
		}
		done(t)(object.NewVirtualMachine(r.client, v).Destroy(t.Context()))
	}
	refused(t, new(types.HostNotConnected))(create("no", hosts[0]))
	move := func(to *object.HostSystem) (*object.Task, error) {
		at := to.Reference()
		return object.NewVirtualMachine(r.client, one).Relocate(t.Context(), types.VirtualMachineRelocateSpec{Host: &at}, "")
	}
	if r.hostOf(one).Reference() == hosts[2].Reference() {
		refused(t, new(types.HostNotConnected))(move(hosts[0]))
		refused(t, new(types.InvalidState))(move(hosts[1]))
	}
	refused(t, new(types.InvalidState))(create("no", hosts[1]))
	gone := ref{Type: "HostSystem", Value: "host-0"}
	refused(t, new(types.ManagedObjectNotFound))(create("no", object.NewHostSystem(r.client, gone)))

	alone, vms := r.standalone()
	vm = vms[0]
	root := pool.Reference()
	if two := made(clone("away", types.VirtualMachineRelocateSpec{Pool: &root})); r.hostOf(two).Reference() != hosts[2].Reference() {
		t.Error("a clone for another cluster stayed on its host")
	}
	at := hosts[1].Reference()
	refused(t, new(types.InvalidState))(clone("no", types.VirtualMachineRelocateSpec{Pool: &root, Host: &at}))
	disconnect(r, hosts[2])
	refused(t, new(types.NoActiveHostInCluster))(create("no", nil))
	if c := r.cluster(); len(c.Host) != 3 {
		t.Errorf("cluster has hosts %v", c.Host)
	}
	disconnect(r, alone)
	refused(t, new(types.HostNotConnected))(clone("no", types.VirtualMachineRelocateSpec{}))
}

// TestNoDatastore: vcsim ends the process when no host of the pool mounts the datastore.
func TestNoDatastore(t *testing.T) {
	r := setup(t, host.Options{})
	hosts, _ := r.clustered()
	folders, err := object.NewDatacenter(r.client, r.base.Map.Any("Datacenter").Reference()).Folders(t.Context())
	must(t, err)
	pool, err := hosts[0].ResourcePool(t.Context())
	must(t, err)
	refused(t, new(types.InvalidDatastorePath))(folders.VmFolder.CreateVM(t.Context(), types.VirtualMachineConfigSpec{
		Name: "no", Files: &types.VirtualMachineFileInfo{VmPathName: "[nowhere]"},
	}, pool, nil))
}

// TestPowerOnMulti starts a VM elsewhere when its host cannot, and says why when none can.
func TestPowerOnMulti(t *testing.T) {
	r := setup(t, host.Options{}, func(m *simulator.Model) { m.Autostart = false })
	_, vm := r.clustered()
	h := r.hostOf(vm)
	done(t)(h.EnterMaintenanceMode(t.Context(), 0, false, nil))
	if r.hostOf(vm).Reference() != h.Reference() {
		t.Fatal("a VM that is off was moved")
	}
	_, alone := r.standalone()
	lost := r.hostOf(alone[0])
	disconnect(r, lost)
	dc := object.NewDatacenter(r.client, r.base.Map.Any("Datacenter").Reference())
	task, err := dc.PowerOnVM(t.Context(), []ref{vm, alone[0], {Type: "VirtualMachine", Value: "vm-0"}})
	must(t, err)
	info, err := task.WaitForResult(t.Context())
	must(t, err)
	result := info.Result.(types.ClusterPowerOnVmResult)
	if len(result.Attempted) != 2 || len(result.NotAttempted) != 1 {
		t.Fatalf("%+v", result)
	}
	done(t)(object.NewTask(r.client, *result.Attempted[0].Task), nil)
	refused(t, new(types.HostNotConnected))(object.NewTask(r.client, *result.Attempted[1].Task), nil)
	if m := r.vm(vm).Runtime; m.PowerState != types.VirtualMachinePowerStatePoweredOn || *m.Host == h.Reference() {
		t.Errorf("%+v", m)
	}
	checkLists(r)
}

// TestAdmission asks before a power-on.
func TestAdmission(t *testing.T) {
	r := setup(t, host.Options{}, func(m *simulator.Model) { m.Autostart = false })
	_, vm := r.clustered()
	r.hosts.Admit(func(v ref) types.BaseMethodFault {
		if v == vm {
			return new(types.InsufficientFailoverResourcesFault)
		}
		return nil
	})
	refused(t, new(types.InsufficientFailoverResourcesFault))(object.NewVirtualMachine(r.client, vm).PowerOn(t.Context()))
	_, alone := r.standalone()
	done(t)(object.NewVirtualMachine(r.client, alone[0]).PowerOn(t.Context()))
}
