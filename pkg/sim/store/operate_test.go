package store_test

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/store"
)

// done waits for a task.
func done(t testing.TB, what string, task *object.Task, err error) *types.TaskInfo {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	info, err := task.WaitForResult(t.Context(), nil)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return info
}

// operate does with a loaded vCenter what one does with a vCenter.
func (v *vcenter) operate(t testing.TB) {
	t.Helper()
	ctx := t.Context()
	vms, err := v.finder.VirtualMachineList(ctx, "/...")
	if err != nil || len(vms) == 0 {
		t.Fatalf("%d VMs: %v", len(vms), err)
	}
	search := object.NewSearchIndex(v.Client)
	pc := property.DefaultCollector(v.Client)
	var vm *object.VirtualMachine
	for _, one := range vms {
		var p mo.VirtualMachine
		if err := pc.RetrieveOne(ctx, one.Reference(), []string{"config", "runtime", "name", "guest"}, &p); err != nil {
			t.Fatal(err)
		}
		if found, err := search.FindByUuid(ctx, nil, p.Config.Uuid, true, nil); err != nil || found == nil || found.Reference() != p.Self {
			t.Errorf("%s: by UUID: %v, %v", p.Name, found, err)
		}
		if !p.Config.Template && p.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
			vm = one
		}
	}
	host, err := vm.HostSystem(ctx)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := vm.ResourcePool(ctx)
	if err != nil {
		t.Fatal(err)
	}

	task, err := vm.PowerOff(ctx)
	done(t, "power off", task, err)
	task, err = vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{NumCPUs: 3, Annotation: "changed"})
	done(t, "reconfigure", task, err)
	devices, err := vm.Device(ctx)
	if err != nil {
		t.Fatal(err)
	}
	controller, err := devices.FindDiskController("")
	if err != nil {
		t.Fatal(err)
	}
	add := devices.CreateDisk(controller, types.ManagedObjectReference{}, "")
	add.CapacityInKB = 1 << 20
	if err := vm.AddDevice(ctx, add); err != nil {
		t.Fatalf("add a disk: %v", err)
	}
	task, err = vm.CreateSnapshot(ctx, "new", "", false, false)
	done(t, "snapshot", task, err)
	task, err = vm.PowerOn(ctx)
	done(t, "power on", task, err)

	datacenters, err := v.finder.DatacenterList(ctx, "/...")
	if err != nil {
		t.Fatal(err)
	}
	for _, dc := range datacenters {
		v.finder.SetDatacenter(dc)
		if !strings.HasPrefix(vm.InventoryPath, dc.InventoryPath+"/") {
			continue
		}
		folders, err := dc.Folders(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var p mo.VirtualMachine
		if err := pc.RetrieveOne(ctx, vm.Reference(), []string{"datastore"}, &p); err != nil {
			t.Fatal(err)
		}
		name, err := object.NewDatastore(v.Client, p.Datastore[0]).ObjectName(ctx)
		if err != nil {
			t.Fatal(err)
		}
		task, err = folders.VmFolder.CreateVM(ctx, types.VirtualMachineConfigSpec{
			Name: "fresh", GuestId: "otherGuest", Files: &types.VirtualMachineFileInfo{VmPathName: "[" + name + "]"},
		}, pool, host)
		made := done(t, "create", task, err).Result.(types.ManagedObjectReference)
		if slices.ContainsFunc(vms, func(o *object.VirtualMachine) bool { return o.Reference() == made }) {
			t.Errorf("new VM got the reference of an old one: %s", made)
		}
		task, err = object.NewVirtualMachine(v.Client, made).Destroy(ctx)
		done(t, "destroy the new one", task, err)
		task, err = folders.HostFolder.AddStandaloneHost(ctx, types.HostConnectSpec{HostName: "new-host"}, true, nil, nil)
		done(t, "add a host", task, err)
	}
	clusters, err := v.finder.ClusterComputeResourceList(ctx, "/...")
	if err != nil || len(clusters) == 0 {
		t.Fatalf("%d clusters: %v", len(clusters), err)
	}
	task, err = clusters[0].AddHost(ctx, types.HostConnectSpec{HostName: "joined"}, true, nil, nil)
	done(t, "add a host to the cluster", task, err)

	task, err = vm.PowerOff(ctx)
	done(t, "power off again", task, err)
	task, err = vm.Destroy(ctx)
	done(t, "destroy", task, err)
	task, err = host.EnterMaintenanceMode(ctx, 0, false, nil)
	done(t, "enter maintenance", task, err)
	task, err = host.ExitMaintenanceMode(ctx, 0)
	done(t, "exit maintenance", task, err)
}

func TestOperatesAsBefore(t *testing.T) {
	race.SkipSlow(t)
	v := build(t, rich)
	dir, _ := v.save(t, store.Options{Name: "west"})
	w, saved := load(t, dir)
	ctx := t.Context()
	if saved.Name() != "west" {
		t.Errorf("name is %s", saved.Name())
	}

	// Datastores have the URL they had, and files where the simulator looks.
	for _, name := range []string{"ds1", "nfs", "vs", "vv"} {
		var was, is mo.Datastore
		for at, dst := range map[*vcenter]*mo.Datastore{v: &was, w: &is} {
			ds, err := at.finder.Datastore(ctx, "/americas/west/dc1/datastore/"+name)
			if err != nil {
				t.Fatal(err)
			}
			if err := ds.Properties(ctx, ds.Reference(), []string{"summary", "info"}, dst); err != nil {
				t.Fatal(err)
			}
		}
		if was.Summary.Url != is.Summary.Url || !strings.HasPrefix(is.Summary.Url, "ds:///vmfs/volumes/") {
			t.Errorf("%s was at %s, is at %s", name, was.Summary.Url, is.Summary.Url)
		}
		if was.Summary.FreeSpace != is.Summary.FreeSpace {
			t.Errorf("%s had %d bytes, has %d", name, was.Summary.FreeSpace, is.Summary.FreeSpace)
		}
	}
	// A guest that was off has what its variables say when it comes up, and one that was on has what it had.
	off, err := w.finder.VirtualMachine(ctx, "/americas/west/dc1/vm/off-1")
	if err != nil {
		t.Fatal(err)
	}
	task, err := off.PowerOn(ctx)
	done(t, "power on", task, err)
	// The address comes with the guest, after the task.
	ip, err := off.WaitForIP(ctx, true)
	if err != nil || !strings.HasPrefix(ip, "10.20.0.") {
		t.Errorf("off-1 has %q: %v", ip, err)
	}
	if d := cmp.Diff(v.vm(t, "web-1").Guest.Net, w.vm(t, "web-1").Guest.Net); d != "" {
		t.Error(d)
	}

	// Tags and policies.
	cluster := w.base.Map.Any("ClusterComputeResource").Reference()
	list, err := tags.NewManager(w.rest).GetAttachedTags(ctx, cluster)
	if err != nil || len(list) != 1 || list[0].Name != "a" {
		t.Errorf("cluster has tags %v: %v", list, err)
	}
	if d := cmp.Diff(len(v.tags.Snapshot().Associations), len(w.tags.Snapshot().Associations)); d != "" {
		t.Error(d)
	}
	id, err := w.policies.ProfileIDByName(ctx, "gold")
	was, werr := v.policies.ProfileIDByName(ctx, "gold")
	if err != nil || werr != nil || id != was {
		t.Errorf("policy is %s, was %s: %v, %v", id, was, err, werr)
	}

	// Snapshots can be reverted to.
	web, err := w.finder.VirtualMachine(ctx, "/americas/west/dc1/vm/prod/web/web-1")
	if err != nil {
		t.Fatal(err)
	}
	task, err = web.RevertToSnapshot(ctx, "before", true)
	done(t, "revert", task, err)
	task, err = web.RemoveSnapshot(ctx, "after", false, nil)
	done(t, "remove a snapshot", task, err)

	w.operate(t)
}

func TestPermissionsAreInForce(t *testing.T) {
	race.SkipSlow(t)
	v := build(t, rich)
	dir, _ := v.save(t, store.Options{Name: "west"})
	w, _ := load(t, dir)
	for name, want := range map[string][2]bool{"cpi@vsphere.local": {true, false}, "jdoe@corp.example": {true, true}} {
		user, ok := w.access.User(name)
		if !ok {
			t.Fatalf("no user %s", name)
		}
		old, _ := v.access.User(name)
		if user.Password == old.Password {
			t.Errorf("%s has the password that it had", name)
		}
		c := w.session(t, url.UserPassword(user.Name, user.Password))
		session, err := c.SessionManager.UserSession(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got, err := object.NewAuthorizationManager(c.Client).HasPrivilegeOnEntity(t.Context(),
			w.base.Map.Any("Datacenter").Reference(), session.Key, []string{"System.Read", "VirtualMachine.Interact.PowerOn"})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want[:], got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "sandbox", "access.json")); err != nil {
		t.Error(err)
	}
	for name, text := range files(t, dir) {
		if strings.Contains(text, "secret") {
			t.Errorf("%s holds a password", name)
		}
	}
}
