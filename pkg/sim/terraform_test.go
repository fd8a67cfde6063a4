package sim_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

const switches = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: switches}
spec:
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          switches: [{name: dvs, portGroups: [{name: pg}]}]
          datastores: [{name: ds}]
          clusters: [{name: c1, hosts: [{name: h1}, {name: h2}]}]
`

// TestSwitchType: the Terraform provider finds a switch by its UUID, and refuses it unless it is a VmwareDistributedVirtualSwitch.
func TestSwitchType(t *testing.T) {
	s := start(t, switches, nil)
	c := s.login(t, s.vcenter(t, "vc"))
	folder := object.NewFolder(c.Client, ref(t, c, "/dc/network"))
	must(t)(folder.CreateDVS(t.Context(), types.DVSCreateSpec{ConfigSpec: &types.VMwareDVSConfigSpec{
		DVSConfigSpec: types.DVSConfigSpec{Name: "made"}, MaxMtu: 9000,
	}}))
	for _, name := range []string{"dvs", "made"} {
		dvs := ref(t, c, "/dc/network/"+name)
		var got mo.VmwareDistributedVirtualSwitch
		get(t, c, dvs, &got, "uuid", "config", "portgroup", "parent")
		if dvs.Type != "VmwareDistributedVirtualSwitch" || got.Config.GetDVSConfigInfo().Uuid != got.Uuid || *got.Parent != folder.Reference() {
			t.Errorf("%s is %s with %+v", name, dvs, got.Config)
		}
		found, err := methods.QueryDvsByUuid(t.Context(), c.Client, &types.QueryDvsByUuid{This: *c.ServiceContent.DvSwitchManager, Uuid: got.Uuid})
		if err != nil || found.Returnval == nil || *found.Returnval != dvs {
			t.Errorf("%s by its UUID: %+v, %v", name, found, err)
		}
		var pg mo.DistributedVirtualPortgroup
		get(t, c, got.Portgroup[0], &pg, "key", "config.distributedVirtualSwitch")
		group, err := methods.DVSManagerLookupDvPortGroup(t.Context(), c.Client, &types.DVSManagerLookupDvPortGroup{
			This: *c.ServiceContent.DvSwitchManager, SwitchUuid: got.Uuid, PortgroupKey: pg.Key,
		})
		if err != nil || *group.Returnval != pg.Self || *pg.Config.DistributedVirtualSwitch != dvs {
			t.Errorf("%s: port group %+v, %v; it is of %v", name, group, err, pg.Config.DistributedVirtualSwitch)
		}
	}
	for _, kind := range []string{"VmwareDistributedVirtualSwitch", "DistributedVirtualSwitch", "ManagedEntity"} {
		v, err := view.NewManager(c.Client).CreateContainerView(t.Context(), c.ServiceContent.RootFolder, []string{kind}, true)
		if err != nil {
			t.Fatal(err)
		}
		all, err := v.Find(t.Context(), []string{kind}, nil)
		var names []string
		for _, r := range all {
			if r.Type == "VmwareDistributedVirtualSwitch" {
				names = append(names, r.Value)
			}
		}
		if err != nil || len(names) != 2 {
			t.Errorf("a view of %s has the switches %q, %v", kind, names, err)
		}
	}
	must(t)(object.NewDistributedVirtualSwitch(c.Client, ref(t, c, "/dc/network/made")).Destroy(t.Context()))
	if _, err := find.NewFinder(c.Client, true).Network(t.Context(), "/dc/network/made"); err == nil {
		t.Error("the destroyed switch is found")
	}
}

// TestTerraformVM makes the calls of the Terraform provider for a VM from scratch, in its order: the devices that the VM has by
// default, a relative placement, creation, the edit of its boot devices, power on, and the update of a plan.
func TestTerraformVM(t *testing.T) {
	s := start(t, switches, nil)
	c := s.login(t, s.vcenter(t, "vc"))
	ctx := t.Context()
	cluster := ref(t, c, "/dc/host/c1")
	pool := object.NewResourcePool(c.Client, ref(t, c, "/dc/host/c1/Resources"))

	// The cluster is asked for as what its resource pool's owner is for every kind of host.
	var owner mo.ResourcePool
	get(t, c, pool.Reference(), &owner, "owner")
	if owner.Owner != cluster {
		t.Fatalf("owner %s, want %s", owner.Owner, cluster)
	}
	compute := object.NewComputeResource(c.Client, types.ManagedObjectReference{Type: "ComputeResource", Value: cluster.Value})
	browser, err := compute.EnvironmentBrowser(ctx)
	if err != nil {
		t.Fatalf("environment browser: %v", err)
	}
	option, err := browser.QueryConfigOptionDescriptor(ctx)
	if err != nil || len(option) == 0 {
		t.Fatalf("descriptors: %v, %v", option, err)
	}
	options, err := browser.QueryConfigOption(ctx, &types.EnvironmentBrowserConfigOptionQuerySpec{GuestId: []string{"otherLinux64Guest"}})
	if err != nil || options == nil {
		t.Fatalf("options: %v, %v", options, err)
	}
	family := ""
	for _, g := range options.GuestOSDescriptor {
		if g.Id == "otherLinux64Guest" {
			family = g.Family
		}
	}
	if family != string(types.VirtualMachineGuestOsFamilyLinuxGuest) {
		t.Errorf("OS family %q of %d descriptors", family, len(options.GuestOSDescriptor))
	}
	devices := object.VirtualDeviceList(options.DefaultDevice)
	for _, want := range []types.BaseVirtualDevice{(*types.VirtualIDEController)(nil), (*types.VirtualPCIController)(nil)} {
		if len(devices.SelectByType(want)) == 0 {
			t.Errorf("no %T among the %d default devices", want, len(devices))
		}
	}

	// A VM of these devices.
	var pg mo.DistributedVirtualPortgroup
	get(t, c, ref(t, c, "/dc/network/pg"), &pg, "key", "config")
	dvs := object.NewDistributedVirtualSwitch(c.Client, *pg.Config.DistributedVirtualSwitch)
	var of mo.VmwareDistributedVirtualSwitch
	get(t, c, dvs.Reference(), &of, "uuid")
	scsi, err := devices.CreateSCSIController("pvscsi")
	if err != nil {
		t.Fatal(err)
	}
	store := ref(t, c, "/dc/datastore/ds")
	disk := devices.CreateDisk(scsi.(types.BaseVirtualController), store, "")
	disk.CapacityInBytes = 1 << 30
	nic, err := devices.CreateEthernetCard("vmxnet3", &types.VirtualEthernetCardDistributedVirtualPortBackingInfo{
		Port: types.DistributedVirtualSwitchPortConnection{SwitchUuid: of.Uuid, PortgroupKey: pg.Key},
	})
	if err != nil {
		t.Fatal(err)
	}
	change, err := append(object.VirtualDeviceList{}, scsi, disk, nic).ConfigSpec(types.VirtualDeviceConfigSpecOperationAdd)
	if err != nil {
		t.Fatal(err)
	}
	task, err := object.NewFolder(c.Client, ref(t, c, "/dc/vm")).CreateVM(ctx, types.VirtualMachineConfigSpec{
		Name: "scratch", GuestId: "otherLinux64Guest", NumCPUs: 2, MemoryMB: 1024, DeviceChange: change,
		Files: &types.VirtualMachineFileInfo{VmPathName: "[ds]"},
	}, pool, nil)
	if err != nil {
		t.Fatal(err)
	}
	info, err := task.WaitForResult(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := object.NewVirtualMachine(c.Client, info.Result.(types.ManagedObjectReference))
	made, err := m.Device(ctx)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{
		"disks": len(made.SelectByType((*types.VirtualDisk)(nil))), "NICs": len(made.SelectByType((*types.VirtualEthernetCard)(nil))),
		"SCSI": len(made.SelectByType((*types.ParaVirtualSCSIController)(nil))),
	}
	if d := cmp.Diff(map[string]int{"disks": 1, "NICs": 1, "SCSI": 1}, got); d != "" {
		t.Errorf("devices (-want +got):\n%s", d)
	}
	must(t)(m.PowerOn(ctx))

	// Found again by its UUID, as at every refresh.
	var now mo.VirtualMachine
	get(t, c, m.Reference(), &now, "config.uuid", "resourcePool", "runtime.host", "summary.runtime.powerState")
	found, err := object.NewSearchIndex(c.Client).FindByUuid(ctx, nil, now.Config.Uuid, true, new(false))
	if err != nil || found == nil || found.Reference() != m.Reference() {
		t.Errorf("by UUID: %v, %v", found, err)
	}
	must(t)(m.Reconfigure(ctx, types.VirtualMachineConfigSpec{Annotation: "changed"}))
	must(t)(m.PowerOff(ctx))
	must(t)(m.Destroy(ctx))
}
