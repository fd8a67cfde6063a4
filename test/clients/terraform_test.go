package clients

import (
	"context"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// The calls of the Terraform provider for a vsphere_virtual_machine that is made from scratch, as its
// resource_vsphere_virtual_machine.go makes them (terraform-provider-vsphere v2.13.0; its module is not on the proxy): the default
// devices of the pool's cluster, which it names by the base type ComputeResource, then a VM with these and its own devices, which must
// be found again at the addresses that it gave them.
func TestTerraformVM(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	address, port := vcenter(t)
	c, err := govmomi.NewClient(ctx, &url.URL{
		Scheme: "https", Host: net.JoinHostPort(address, port), Path: "/sdk", User: url.UserPassword("user@vsphere.local", "pass"),
	}, true)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Logout(context.WithoutCancel(ctx)) }()
	finder := find.NewFinder(c.Client)
	dc, err := finder.Datacenter(ctx, "dc")
	if err != nil {
		t.Fatal(err)
	}
	finder.SetDatacenter(dc)
	pool, err := finder.ResourcePool(ctx, "c1/Resources")
	if err != nil {
		t.Fatal(err)
	}
	folders, err := dc.Folders(ctx)
	if err != nil {
		t.Fatal(err)
	}
	network, err := finder.Network(ctx, "VM Network")
	if err != nil {
		t.Fatal(err)
	}

	devices := defaultDevices(ctx, t, c, pool)
	scsi, err := devices.CreateSCSIController("pvscsi")
	if err != nil {
		t.Fatal(err)
	}
	devices = append(devices, scsi)
	backing, err := network.EthernetCardBackingInfo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	nic, err := devices.CreateEthernetCard("vmxnet3", backing)
	if err != nil {
		t.Fatal(err)
	}
	disk := &types.VirtualDisk{
		VirtualDevice: types.VirtualDevice{
			Key:           devices.NewKey(),
			Backing:       &types.VirtualDiskFlatVer2BackingInfo{DiskMode: string(types.VirtualDiskModePersistent), ThinProvisioned: new(true)},
			ControllerKey: scsi.GetVirtualDevice().Key, UnitNumber: types.NewInt32(0),
		},
		CapacityInBytes: 20 << 30, CapacityInKB: 20 << 20,
	}
	change, err := object.VirtualDeviceList{scsi, nic, disk}.ConfigSpec(types.VirtualDeviceConfigSpecOperationAdd)
	if err != nil {
		t.Fatal(err)
	}
	task, err := folders.VmFolder.CreateVM(ctx, types.VirtualMachineConfigSpec{
		Name: "from-scratch", GuestId: "other3xLinux64Guest", NumCPUs: 2, MemoryMB: 4096,
		Files:        &types.VirtualMachineFileInfo{VmPathName: "[ds]"},
		ExtraConfig:  []types.BaseOptionValue{&types.OptionValue{Key: "disk.EnableUUID", Value: "TRUE"}},
		DeviceChange: change,
	}, pool, nil)
	if err != nil {
		t.Fatal(err)
	}
	done, err := task.WaitForResult(ctx)
	if err != nil {
		t.Fatal(err)
	}
	vm := object.NewVirtualMachine(c.Client, done.Result.(types.ManagedObjectReference))
	requireDevices(ctx, t, vm)

	start, err := vm.PowerOn(ctx)
	if err == nil {
		err = start.Wait(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	// Its state names the VM by the BIOS UUID: the next run finds it by that.
	found, err := object.NewSearchIndex(c.Client).FindByUuid(ctx, dc, vm.UUID(ctx), true, new(false))
	if err != nil || found == nil || found.Reference() != vm.Reference() {
		t.Fatalf("by UUID %s: %v, %v", vm.UUID(ctx), found, err)
	}
	var is mo.VirtualMachine
	if err := vm.Properties(ctx, vm.Reference(), []string{"runtime.powerState", "config", "guest", "summary"}, &is); err != nil {
		t.Fatal(err)
	}
	if is.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn || is.Config.Hardware.NumCPU != 2 || is.Config.Files.VmPathName == "" {
		t.Errorf("state %s, %d CPUs, %q", is.Runtime.PowerState, is.Config.Hardware.NumCPU, is.Config.Files.VmPathName)
	}
	stop, err := vm.PowerOff(ctx)
	if err == nil {
		err = stop.Wait(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	gone, err := vm.Destroy(ctx)
	if err == nil {
		err = gone.Wait(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// defaultDevices asks the environment browser of the pool's cluster for the devices of a new VM, and which OS family a guest is of.
func defaultDevices(ctx context.Context, t *testing.T, c *govmomi.Client, pool *object.ResourcePool) object.VirtualDeviceList {
	t.Helper()
	var p mo.ResourcePool
	if err := pool.Properties(ctx, pool.Reference(), []string{"owner"}, &p); err != nil {
		t.Fatal(err)
	}
	var owner mo.ComputeResource
	ref := types.ManagedObjectReference{Type: "ComputeResource", Value: p.Owner.Value}
	if err := property.DefaultCollector(c.Client).RetrieveOne(ctx, ref, []string{"environmentBrowser", "name"}, &owner); err != nil {
		t.Fatal(err)
	}
	if owner.EnvironmentBrowser == nil || owner.Name != "c1" {
		t.Fatalf("%s: %+v", ref, owner)
	}
	options, err := methods.QueryConfigOption(ctx, c.Client, &types.QueryConfigOption{This: *owner.EnvironmentBrowser})
	if err != nil {
		t.Fatal(err)
	}
	family, err := methods.QueryConfigOptionEx(ctx, c.Client, &types.QueryConfigOptionEx{
		This: *owner.EnvironmentBrowser, Spec: &types.EnvironmentBrowserConfigOptionQuerySpec{GuestId: []string{"other3xLinux64Guest"}},
	})
	if err != nil || family.Returnval == nil || len(family.Returnval.GuestOSDescriptor) == 0 || family.Returnval.GuestOSDescriptor[0].Family != string(types.VirtualMachineGuestOsFamilyLinuxGuest) {
		t.Errorf("the family of a guest: %+v, %v", family, err)
	}
	devices := object.VirtualDeviceList(options.Returnval.DefaultDevice)
	for _, bus := range []types.BaseVirtualController{(*types.VirtualIDEController)(nil), (*types.VirtualPCIController)(nil)} {
		if len(devices.SelectByType(bus.(types.BaseVirtualDevice))) == 0 {
			t.Errorf("no %T in the default devices", bus)
		}
	}
	return devices
}

// requireDevices checks that the VM has the devices of the provider's configuration: it looks for each at its bus and unit.
func requireDevices(ctx context.Context, t *testing.T, vm *object.VirtualMachine) {
	t.Helper()
	devices, err := vm.Device(ctx)
	if err != nil {
		t.Fatal(err)
	}
	scsi := devices.SelectByType((*types.ParaVirtualSCSIController)(nil))
	disks := devices.SelectByType((*types.VirtualDisk)(nil))
	nics := devices.SelectByType((*types.VirtualVmxnet3)(nil))
	if len(scsi) != 1 || len(disks) != 1 || len(nics) != 1 {
		t.Fatalf("%d SCSI controllers, %d disks, %d adapters", len(scsi), len(disks), len(nics))
	}
	disk := disks[0].(*types.VirtualDisk)
	if disk.ControllerKey != scsi[0].GetVirtualDevice().Key || disk.UnitNumber == nil || *disk.UnitNumber != 0 || disk.CapacityInBytes != 20<<30 {
		t.Errorf("the disk is at controller %d, unit %v, of %d bytes", disk.ControllerKey, disk.UnitNumber, disk.CapacityInBytes)
	}
	if file := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo); file.FileName == "" || file.Uuid == "" {
		t.Errorf("the disk's file is %q, with UUID %q", file.FileName, file.Uuid)
	}
	nic := nics[0].GetVirtualDevice()
	if pci := devices.FindByKey(nic.ControllerKey); pci == nil || nic.UnitNumber == nil {
		t.Errorf("the adapter is at controller %d (%v), unit %v", nic.ControllerKey, pci, nic.UnitNumber)
	}
	if mac := nics[0].(*types.VirtualVmxnet3).MacAddress; mac == "" {
		t.Error("the adapter has no MAC address")
	}
}
