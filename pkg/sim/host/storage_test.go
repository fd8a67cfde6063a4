package host_test

import (
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vslm"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/host"
)

// TestNoSpace: calls that need space on a full datastore are refused, and succeed once it has space.
func TestNoSpace(t *testing.T) {
	r := setup(t, host.Options{})
	hosts, vm := r.clustered()
	ds := r.vm(vm).Datastore[0]
	name := r.datastore(ds).Summary.Name
	v := object.NewVirtualMachine(r.client, vm)
	disks := object.NewVirtualDiskManager(r.client)
	dc := object.NewDatacenter(r.client, r.base.Map.Any("Datacenter").Reference())
	file := func(f string) string { return (&object.DatastorePath{Datastore: name, Path: f}).String() }
	spec := &types.FileBackedVirtualDiskSpec{
		VirtualDiskSpec: types.VirtualDiskSpec{AdapterType: "lsiLogic", DiskType: "thin"}, CapacityKb: 1024,
	}
	first := vslm.NewObjectManager(r.client)
	fcd := types.VslmCreateSpec{
		Name: "fcd", CapacityInMB: 10,
		BackingSpec: &types.VslmCreateSpecDiskFileBackingSpec{VslmCreateSpecBackingSpec: types.VslmCreateSpecBackingSpec{Datastore: ds}},
	}
	calls := []struct {
		name string
		call func() (*object.Task, error)
	}{
		{"snapshot", func() (*object.Task, error) { return v.CreateSnapshot(t.Context(), "s", "", false, false) }},
		{"disk", func() (*object.Task, error) { return disks.CreateVirtualDisk(t.Context(), file("d.vmdk"), dc, spec) }},
		{"copy", func() (*object.Task, error) {
			return disks.CopyVirtualDisk(t.Context(), file("d.vmdk"), dc, file("e.vmdk"), dc, nil, false)
		}},
		{"larger disk", func() (*object.Task, error) {
			return disks.ExtendVirtualDisk(t.Context(), file("d.vmdk"), dc, 4096, nil)
		}},
		{"first class disk", func() (*object.Task, error) { return first.CreateDisk(t.Context(), fcd) }},
		{"child VM", func() (*object.Task, error) {
			pool := r.base.Map.Any("ResourcePool").Reference()
			res, err := methods.CreateChildVM_Task(t.Context(), r.client, &types.CreateChildVM_Task{
				This: pool, Host: new(hosts[0].Reference()),
				Config: types.VirtualMachineConfigSpec{Name: "child", Files: &types.VirtualMachineFileInfo{VmPathName: file("")}},
			})
			if err != nil {
				return nil, err
			}
			return object.NewTask(r.client, res.Returnval), nil
		}},
	}
	must(t, r.hosts.Fill(t.Context(), ds))
	was := r.datastore(ds).Summary
	if was.FreeSpace != 0 {
		t.Errorf("%d bytes free", was.FreeSpace)
	}
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) { refused(t, new(types.NoDiskSpace))(c.call()) })
	}
	// vcsim finds all space free when it is asked to look again.
	_, err := methods.RefreshDatastore(t.Context(), r.client, &types.RefreshDatastore{This: ds})
	must(t, err)
	if free := r.datastore(ds).Summary.FreeSpace; free != 0 {
		t.Errorf("%d bytes free", free)
	}
	must(t, r.hosts.Fill(t.Context(), ds))
	must(t, r.hosts.Free(t.Context(), ds))
	must(t, r.hosts.Free(t.Context(), ds))
	if r.datastore(ds).Summary.FreeSpace == 0 {
		t.Error("nothing free")
	}
	for _, c := range calls {
		if c.name != "child VM" { // which vcsim does not do
			t.Run(c.name+" again", func(t *testing.T) { done(t)(c.call()) })
		}
	}
}

// TestNoSpaceElsewhere: a datastore of the same name in another datacenter has space.
func TestNoSpaceElsewhere(t *testing.T) {
	r := setup(t, host.Options{}, func(m *simulator.Model) { m.Datacenter = 2 })
	names := map[string]int{}
	for _, ds := range r.base.Map.AllReference("Datastore") {
		names[r.datastore(ds.Reference()).Summary.Name]++
	}
	if len(names) != 1 {
		t.Fatalf("datastores %v", names)
	}
	var full ref
	snapshot := func(vm ref) (*object.Task, error) {
		return object.NewVirtualMachine(r.client, vm).CreateSnapshot(t.Context(), "s", "", false, false)
	}
	for _, e := range r.base.Map.AllReference("VirtualMachine") {
		vm := e.Reference()
		if full == (ref{}) {
			full = r.vm(vm).Datastore[0]
			must(t, r.hosts.Fill(t.Context(), full))
		}
		if r.vm(vm).Datastore[0] == full {
			refused(t, new(types.NoDiskSpace))(snapshot(vm))
		} else {
			done(t)(snapshot(vm))
		}
	}
}

// TestUnmount: a datastore that is mounted again is where it was.
func TestUnmount(t *testing.T) {
	r := setup(t, host.Options{})
	_, vm := r.clustered()
	ds, h := r.vm(vm).Datastore[0], *r.vm(vm).Runtime.Host
	before := r.datastore(ds)
	must(t, r.hosts.Unmount(t.Context(), ds, h))
	must(t, r.hosts.Unmount(t.Context(), ds, h))
	if n := len(r.datastore(ds).Host); n != len(before.Host)-1 {
		t.Errorf("%d of %d hosts mount it", n, len(before.Host))
	}
	if s := r.vm(vm).Runtime.ConnectionState; s != types.VirtualMachineConnectionStateInaccessible {
		t.Errorf("VM: %s", s)
	}
	must(t, r.hosts.Mount(t.Context(), ds, h))
	must(t, r.hosts.Mount(t.Context(), ds, h))
	for i, m := range r.datastore(ds).Host {
		if m.Key != before.Host[i].Key {
			t.Errorf("mounts in another order: %+v", r.datastore(ds).Host)
		}
	}
	if s := r.vm(vm).Runtime.ConnectionState; s != types.VirtualMachineConnectionStateConnected {
		t.Errorf("VM: %s", s)
	}
}

// TestMissing: missing objects are reported.
func TestMissing(t *testing.T) {
	r := setup(t, host.Options{})
	ctx, no := t.Context(), ref{Type: "Datastore", Value: "datastore-0"}
	_, vm := r.clustered()
	ds := r.vm(vm).Datastore[0]
	for name, err := range map[string]error{
		"fill": r.hosts.Fill(ctx, no), "free": r.hosts.Free(ctx, no), "unmount": r.hosts.Unmount(ctx, no, no),
		"unmount from nobody": r.hosts.Unmount(ctx, ds, no), "mount": r.hosts.Mount(ctx, no, no),
		"refuse": r.hosts.RefuseDisks(ctx, no, nil, nil), "hide": r.hosts.Hide(ctx, no, "orphaned"), "show": r.hosts.Show(ctx, no),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
