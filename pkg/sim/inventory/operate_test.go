package inventory_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
)

const two = `
spec:
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          clusters: [{name: c, hosts: [{name: "h-{n}", replicas: 3}]}]
          vms: [{name: one, cluster: c, power: off}, {name: two, cluster: c}]
`

// must waits for a task that is to succeed.
func must(t *testing.T) func(*object.Task, error) types.AnyType {
	return func(task *object.Task, err error) types.AnyType {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		info, err := task.WaitForResult(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return info.Result
	}
}

// TestOperations does to a VM that was built what clients do to VMs: vcsim finds everything it needs.
func TestOperations(t *testing.T) {
	v := build(t, two)
	vm, err := v.finder.VirtualMachine(t.Context(), "/dc/vm/two")
	if err != nil {
		t.Fatal(err)
	}
	done := must(t)
	done(vm.PowerOff(t.Context()))
	done(vm.PowerOn(t.Context()))
	done(vm.PowerOff(t.Context()))

	devices, err := vm.Device(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	disk := devices.FindByKey(2000).(*types.VirtualDisk)
	disk.CapacityInKB *= 2
	disk.CapacityInBytes *= 2
	done(vm.Reconfigure(t.Context(), types.VirtualMachineConfigSpec{DeviceChange: []types.BaseVirtualDeviceConfigSpec{
		&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: disk},
	}}))
	controller, err := devices.FindDiskController("")
	if err != nil {
		t.Fatal(err)
	}
	data := devices.CreateDisk(controller, types.ManagedObjectReference{}, "")
	data.CapacityInKB = 1 << 20
	if err := vm.AddDevice(t.Context(), data); err != nil {
		t.Error(err)
	}
	network, err := v.finder.Network(t.Context(), "/dc/network/VM Network")
	if err != nil {
		t.Fatal(err)
	}
	backing, err := network.EthernetCardBackingInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	card, err := devices.CreateEthernetCard("vmxnet3", backing)
	if err != nil {
		t.Fatal(err)
	}
	if err := vm.AddDevice(t.Context(), card); err != nil {
		t.Error(err)
	}
	done(vm.CreateSnapshot(t.Context(), "now", "", false, false))
	folder, err := v.finder.Folder(t.Context(), "/dc/vm")
	if err != nil {
		t.Fatal(err)
	}
	clone := done(vm.Clone(t.Context(), folder, "clone", types.VirtualMachineCloneSpec{})).(types.ManagedObjectReference)
	var got mo.VirtualMachine
	v.get(t, clone, &got, "summary.config")
	if got.Summary.Config.NumVirtualDisks != 2 || got.Summary.Config.NumEthernetCards != 2 {
		t.Errorf("clone is %+v", got.Summary.Config)
	}
	done(vm.Destroy(t.Context()))
	if _, err := os.Stat(filepath.Join(v.target.Dir, "dc", "dc-ds", "two")); !os.IsNotExist(err) {
		t.Errorf("the directory of a VM that was destroyed: %v", err)
	}
}

// TestJoining adds a host to a cluster of hosts that vcsim knows no version of; vcsim's own call would end the process.
func TestJoining(t *testing.T) {
	v := build(t, two)
	joining := inventory.NewHostAdder(v.ctx, v.spec.VCenters[0].Version)
	v.ctx.Map.Handler = func(ctx *simulator.Context, m *simulator.Method) (mo.Reference, types.BaseMethodFault) {
		joining.Redirect(ctx, m)
		return nil, nil
	}
	cluster, err := v.finder.ClusterComputeResource(t.Context(), "/dc/host/c")
	if err != nil {
		t.Fatal(err)
	}
	ref := must(t)(cluster.AddHost(t.Context(), types.HostConnectSpec{HostName: "late"}, true, nil, nil)).(types.ManagedObjectReference)
	var h mo.HostSystem
	v.get(t, ref, &h, "name", "config.product", "parent")
	if h.Name != "late" || h.Config.Product.Version != "8.0.3" || *h.Parent != cluster.Reference() {
		t.Errorf("host is %s, %s", h.Name, h.Config.Product.Version)
	}
	var c mo.ClusterComputeResource
	v.get(t, cluster.Reference(), &c, "environmentBrowser", "host")
	list, err := object.NewEnvironmentBrowser(v.Client, *c.EnvironmentBrowser).QueryConfigOptionDescriptor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	last := list[len(list)-1]
	if len(c.Host) != 4 || last.Key != "vmx-21" || len(last.Host) != 4 || !last.DefaultConfigOption {
		t.Errorf("%d hosts, newest hardware %+v", len(c.Host), last)
	}
	_, err = cluster.AddHost(t.Context(), types.HostConnectSpec{}, true, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
}
