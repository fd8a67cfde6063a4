package sim_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
)

// places is where a VM is, seen from every side.
type places struct {
	host, pool, folder string
	datastores         []string
}

func whereIs(t *testing.T, c *govmomi.Client, vm types.ManagedObjectReference) places {
	t.Helper()
	var m mo.VirtualMachine
	get(t, c, vm, &m, "runtime.host", "summary.runtime.host", "resourcePool", "datastore", "parent")
	if *m.Summary.Runtime.Host != *m.Runtime.Host {
		t.Errorf("summary has host %s, runtime %s", m.Summary.Runtime.Host, m.Runtime.Host)
	}
	p := places{host: m.Runtime.Host.Value, pool: m.ResourcePool.Value, folder: m.Parent.Value}
	for _, d := range m.Datastore {
		p.datastores = append(p.datastores, d.Value)
	}
	// No other object may list the VM.
	list := func(what string, refs []types.ManagedObjectReference, self string, is bool) {
		if slices.Contains(refs, vm) != is {
			t.Errorf("%s %s lists the VM: %v, want %v", what, self, !is, is)
		}
	}
	for _, path := range []string{
		"/americas/dcwest/host/c1/west-1", "/americas/dcwest/host/c1/west-2", "/americas/dcwest/host/c2/west-9", "/americas/dceast/host/east-1/east-1",
	} {
		var h mo.HostSystem
		get(t, c, ref(t, c, path), &h, "vm")
		list("host", h.Vm, path, h.Self.Value == p.host)
	}
	for _, path := range []string{"/americas/dcwest/host/c1/Resources", "/americas/dcwest/host/c2/Resources", "/americas/dceast/host/east-1/Resources"} {
		var r mo.ResourcePool
		get(t, c, ref(t, c, path), &r, "vm")
		list("pool", r.Vm, path, r.Self.Value == p.pool)
	}
	for _, path := range []string{"/americas/dcwest/datastore/shared", "/americas/dcwest/datastore/local-1", "/americas/dceast/datastore/dceast-ds"} {
		var d mo.Datastore
		get(t, c, ref(t, c, path), &d, "vm")
		list("datastore", d.Vm, path, slices.Contains(p.datastores, d.Self.Value))
	}
	return p
}

func TestRelocate(t *testing.T) {
	race.SkipSlow(t)
	s := start(t, zones, nil)
	c := s.login(t, s.vcenter(t, "vc-us"))
	cp := vm(t, c, "/americas/dcwest/vm/k8s/masters/cp-1")
	self := cp.Reference()
	at := func(path string) *types.ManagedObjectReference { r := ref(t, c, path); return &r }
	west2, west9, east := at("/americas/dcwest/host/c1/west-2"), at("/americas/dcwest/host/c2/west-9"), at("/americas/dceast/host/east-1/east-1")
	was := whereIs(t, c, self)

	after := s.events.Last()
	must(t)(cp.Relocate(t.Context(), types.VirtualMachineRelocateSpec{Host: west2}, types.VirtualMachineMovePriorityDefaultPriority))
	if now := whereIs(t, c, self); now.host != west2.Value || now.pool != was.pool {
		t.Errorf("within the cluster: %+v, was %+v", now, was)
	}
	moved := s.eventsOf(t, "cp-1", "vm.moved", after)
	if msg := moved[len(moved)-1].Message; !strings.Contains(msg, "west-1") || !strings.Contains(msg, "west-2") {
		t.Errorf("event %q", msg)
	}

	// Another cluster needs a pool there.
	if err := finish(t)(cp.Relocate(t.Context(), types.VirtualMachineRelocateSpec{Host: west9}, "")); err == nil {
		t.Error("moved to another cluster without a pool")
	}
	must(t)(cp.Relocate(t.Context(), types.VirtualMachineRelocateSpec{Pool: at("/americas/dcwest/host/c2/Resources")}, ""))
	if now := whereIs(t, c, self); now.host != west9.Value || now.pool == was.pool {
		t.Errorf("to another cluster: %+v", now)
	}

	// Back by MigrateVM_Task, which vcsim does not have.
	res, err := methods.MigrateVM_Task(t.Context(), c, &types.MigrateVM_Task{
		This: self, Host: west2, Pool: at("/americas/dcwest/host/c1/Resources"), Priority: types.VirtualMachineMovePriorityHighPriority,
	})
	must(t)(object.NewTask(c.Client, res.Returnval), err)
	if now := whereIs(t, c, self); now.host != west2.Value || now.pool != was.pool {
		t.Errorf("migrated: %+v, was %+v", now, was)
	}

	// Into another datacenter: the datastore must be one that the host there mounts.
	spec := types.VirtualMachineRelocateSpec{Host: east, Pool: at("/americas/dceast/host/east-1/Resources")}
	if err := finish(t)(cp.Relocate(t.Context(), spec, "")); !strings.HasSuffix(faultOf(err), ".InaccessibleDatastore") {
		t.Errorf("moved away from its files: %v", err)
	}
	spec.Datastore = at("/americas/dceast/datastore/dceast-ds")
	must(t)(cp.Relocate(t.Context(), spec, ""))
	now := whereIs(t, c, self)
	if now.host != east.Value || now.folder != at("/americas/dceast/vm").Value || !slices.Equal(now.datastores, []string{spec.Datastore.Value}) {
		t.Errorf("in another datacenter: %+v", now)
	}
	if got := vm(t, c, "/americas/dceast/vm/cp-1").Reference(); got != self {
		t.Errorf("found %s in its new folder", got)
	}
	dceast := *at("/americas/dceast")
	found, err := methods.FindByDnsName(t.Context(), c, &types.FindByDnsName{
		This: *c.ServiceContent.SearchIndex, Datacenter: &dceast, DnsName: "cp-1.example.org", VmSearch: true,
	})
	if err != nil || found.Returnval == nil {
		t.Errorf("not found in its new datacenter: %v", err)
	}
	var m mo.VirtualMachine
	get(t, c, self, &m, "config", "guest", "network", "layoutEx")
	if m.Config.Files.VmPathName != "[dceast-ds] cp-1/cp-1.vmx" || m.Guest.HostName == "" || len(m.Network) != 2 {
		t.Errorf("files %s, networks %v, guest %q", m.Config.Files.VmPathName, m.Network, m.Guest.HostName)
	}
	for _, d := range object.VirtualDeviceList(m.Config.Hardware.Device).SelectByType((*types.VirtualDisk)(nil)) {
		b := d.GetVirtualDevice().Backing.(*types.VirtualDiskFlatVer2BackingInfo)
		if b.FileName != "[dceast-ds] cp-1/cp-1.vmdk" || (b.Datastore != nil && *b.Datastore != *spec.Datastore) {
			t.Errorf("disk %s on %v", b.FileName, b.Datastore)
		}
	}
	// Everything is consistent enough to continue living, and to die.
	must(t)(cp.PowerOff(t.Context()))
	must(t)(cp.PowerOn(t.Context()))
	must(t)(cp.PowerOff(t.Context()))
	must(t)(cp.Destroy(t.Context()))
}

func TestRelocateRefuses(t *testing.T) {
	race.SkipSlow(t)
	s := start(t, zones, nil)
	c := s.login(t, s.vcenter(t, "vc-us"))
	worker := vm(t, c, "/americas/dcwest/vm/k8s/worker-1")
	was := whereIs(t, c, worker.Reference())
	at := func(path string) *types.ManagedObjectReference { r := ref(t, c, path); return &r }
	gone := func(kind string) *types.ManagedObjectReference {
		return &types.ManagedObjectReference{Type: kind, Value: "gone-1"}
	}
	for _, tc := range []struct {
		name string
		spec types.VirtualMachineRelocateSpec
		want string
	}{
		{"host that is gone", types.VirtualMachineRelocateSpec{Host: gone("HostSystem")}, "ManagedObjectNotFound"},
		{"pool that is gone", types.VirtualMachineRelocateSpec{Pool: gone("ResourcePool")}, "ManagedObjectNotFound"},
		{"datastore that is gone", types.VirtualMachineRelocateSpec{Datastore: gone("Datastore")}, "ManagedObjectNotFound"},
		{"folder that is gone", types.VirtualMachineRelocateSpec{Folder: gone("Folder")}, "ManagedObjectNotFound"},
		{"folder of another datacenter", types.VirtualMachineRelocateSpec{Folder: at("/americas/dceast/vm")}, "InvalidArgument"},
		{"pool of another host", types.VirtualMachineRelocateSpec{
			Host: at("/americas/dcwest/host/c2/west-9"), Pool: at("/americas/dcwest/host/c1/Resources"),
		}, "InvalidArgument"},
		{"datastore that the host does not mount", types.VirtualMachineRelocateSpec{Datastore: at("/americas/dceast/datastore/dceast-ds")}, "InaccessibleDatastore"},
		{"another vCenter", types.VirtualMachineRelocateSpec{Service: &types.ServiceLocator{
			Credential: &types.ServiceLocatorNamePassword{}, InstanceUuid: "x", Url: "https://x",
		}}, "NotSupported"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := finish(t)(worker.Relocate(t.Context(), tc.spec, ""))
			if !strings.HasSuffix(faultOf(err), "."+tc.want) {
				t.Errorf("err = %v (%s), want %s", err, faultOf(err), tc.want)
			}
			if now := whereIs(t, c, worker.Reference()); now.host != was.host || now.pool != was.pool {
				t.Errorf("it moved all the same: %+v", now)
			}
		})
	}
}
