package inventory_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

const dcPath = "/americas/west/dc"

// TestMachine checks what the topology says of a VM.
func TestMachine(t *testing.T) {
	v := build(t, full)
	var vm mo.VirtualMachine
	v.get(t, v.at(dcPath + "/vm/prod/web/web")[0], &vm)
	if vm.Name != "web" || vm.Config.Version != "vmx-17" || vm.Summary.Config.HwVersion != "vmx-17" ||
		vm.Config.Uuid != "42000000-0000-0000-0000-000000000001" || vm.Config.GuestFullName != "Ubuntu Linux (64-bit)" {
		t.Errorf("configuration is %+v", vm.Config)
	}
	if *vm.Runtime.Host != v.ref(t, dcPath+"/host/c1/h1-1") || *vm.ResourcePool != v.ref(t, dcPath+"/host/c1/Resources/prod/web") ||
		vm.Datastore[0] != v.ref(t, dcPath+"/datastore/shared") || *vm.Parent != v.ref(t, dcPath+"/vm/prod/web") {
		t.Error("VM is not where it should be")
	}
	if vm.Config.Files.VmPathName != "[shared] web/web.vmx" {
		t.Errorf("files are at %s", vm.Config.Files.VmPathName)
	}
	list := object.VirtualDeviceList(vm.Config.Hardware.Device)
	disk, _ := list.FindByKey(2000).(*types.VirtualDisk)
	if disk == nil || disk.ControllerKey != 1000 || disk.CapacityInKB != 20<<20 {
		t.Errorf("disk is %+v", disk)
	}
	second, _ := list.FindByKey(4001).(*types.VirtualVmxnet3)
	if second == nil || second.MacAddress != "00:50:56:01:02:03" || !second.Connectable.Connected {
		t.Fatalf("second card is %+v", second)
	}
	group := v.ref(t, dcPath+"/network/pg-7")
	backing, ok := second.Backing.(*types.VirtualEthernetCardDistributedVirtualPortBackingInfo)
	if !ok || backing.Port.PortgroupKey != group.Value {
		t.Errorf("second card is on %+v, want %s", second.Backing, group.Value)
	}
	if diff := cmp.Diff([]types.ManagedObjectReference{v.ref(t, dcPath+"/network/VM Network"), group}, vm.Network); diff != "" {
		t.Errorf("networks (-want +got):\n%s", diff)
	}
	var nets []string
	for _, n := range vm.Guest.Net {
		nets = append(nets, n.Network+" "+strings.Join(n.IpAddress, ","))
	}
	if diff := cmp.Diff([]string{"VM Network 10.0.0.9,2001:db8::9", "pg-7 10.7.0.9"}, nets); diff != "" {
		t.Errorf("guest.net (-want +got):\n%s", diff)
	}
}

// TestSettings reads cloud-init's metadata as a guest would.
func TestSettings(t *testing.T) {
	v := build(t, full)
	var vm mo.VirtualMachine
	v.get(t, v.at(dcPath + "/vm/prod/web/web")[0], &vm, "config.extraConfig", "config.instanceUuid")
	got := object.OptionValueList(vm.Config.ExtraConfig)
	for key, want := range map[string]string{
		"guestinfo.role": "web", "guestinfo.metadata.encoding": "base64", "disk.EnableUUID": "TRUE", "govcsim": "TRUE",
	} {
		if value, _ := got.GetString(key); value != want {
			t.Errorf("%s is %q, want %q", key, value, want)
		}
	}
	text, _ := got.GetString("guestinfo.metadata")
	metadata, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	want := `instance-id: ` + vm.Config.InstanceUuid + `
local-hostname: web
network:
    version: 1
    config:
        - type: physical
          name: eth0
          mac_address: "00:50:56:01:02:04"
          subnets:
            - type: static
              address: 10.0.0.9/24
              gateway: 10.0.0.1
            - type: static6
              address: 2001:db8::9/64
        - type: physical
          name: eth1
          mac_address: "00:50:56:01:02:03"
          subnets:
            - type: static
              address: 10.7.0.9/24
              gateway: 10.7.0.1
`
	if diff := cmp.Diff(want, string(metadata)); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
}

// TestStates has a template, a VM that is off and one without tools.
func TestStates(t *testing.T) {
	v := build(t, full)
	var vms []mo.VirtualMachine
	for _, name := range []string{"golden", "down", "lab", "shopper"} {
		var vm mo.VirtualMachine
		v.get(t, v.ref(t, dcPath+"/vm/"+name), &vm)
		vms = append(vms, vm)
	}
	golden, down, lab, shopper := vms[0], vms[1], vms[2], vms[3]
	if !golden.Config.Template || !golden.Summary.Config.Template || golden.ResourcePool != nil ||
		golden.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff {
		t.Errorf("template is %+v, %+v", golden.Config, golden.Runtime)
	}
	if down.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff || down.Runtime.BootTime != nil || down.Guest.IpAddress != "" {
		t.Errorf("VM that is off: %+v, %+v", down.Runtime, down.Guest)
	}
	if lab.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn || lab.Guest.IpAddress != "" || lab.Guest.HostName != "" ||
		lab.Guest.ToolsStatus != types.VirtualMachineToolsStatusToolsNotInstalled {
		t.Errorf("VM without tools: %+v", lab.Guest)
	}
	if shopper.Guest.HostName != "shopper" || shopper.Runtime.BootTime == nil || shopper.Config.Version != "vmx-19" {
		t.Errorf("VM that is on: %+v, %s", shopper.Guest, shopper.Config.Version)
	}
	if info, ok := v.built.Guests[golden.Self]; !ok || len(info.Addresses) > 0 || golden.Guest.HostName != "" {
		t.Errorf("a template has what its clones boot, and reports nothing: %+v, %+v", info, golden.Guest)
	}
}

func TestSnapshots(t *testing.T) {
	v := build(t, full)
	var vm mo.VirtualMachine
	v.get(t, v.at(dcPath + "/vm/prod/web/web")[0], &vm, "snapshot", "rootSnapshot", "layoutEx.snapshot")
	if vm.Snapshot == nil || len(vm.Snapshot.RootSnapshotList) != 1 || len(vm.LayoutEx.Snapshot) != 2 {
		t.Fatalf("snapshots are %+v", vm.Snapshot)
	}
	first := vm.Snapshot.RootSnapshotList[0]
	if first.Name != "first" || first.Description != "before" || len(first.ChildSnapshotList) != 1 ||
		first.ChildSnapshotList[0].Name != "second" || *vm.Snapshot.CurrentSnapshot != first.ChildSnapshotList[0].Snapshot {
		t.Errorf("snapshots are %+v", vm.Snapshot)
	}
}

// TestDuplicates has two VMs with one name, folder and UUID: two objects, two directories.
func TestDuplicates(t *testing.T) {
	v := build(t, full)
	refs := v.at(dcPath + "/vm/prod/web/web")
	found, err := object.NewSearchIndex(v.Client).FindAllByUuid(t.Context(), nil, "42000000-0000-0000-0000-000000000001", true, nil)
	if err != nil || len(found) != 2 {
		t.Errorf("%d VMs of one UUID, %v", len(found), err)
	}
	var second mo.VirtualMachine
	v.get(t, refs[1], &second, "name", "config.files", "config.hardware.device")
	if second.Name != "web" || second.Config.Files.VmPathName != "[shared] web_1/web.vmx" {
		t.Errorf("second is %s at %s", second.Name, second.Config.Files.VmPathName)
	}
}
