package access

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	cns "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

func TestNeeds(t *testing.T) {
	ref := func(kind string) vc.Ref { return vc.Ref{Type: kind, Value: "x"} }
	vm, folder, pool, ds, host := ref("VirtualMachine"), ref("Folder"), ref("ResourcePool"), ref("Datastore"), ref("HostSystem")
	network, volumes := ref("Network"), ref("CnsVolumeManager")
	add := func(d types.BaseVirtualDevice, file types.VirtualDeviceConfigSpecFileOperation) types.BaseVirtualDeviceConfigSpec {
		return &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, FileOperation: file, Device: d}
	}
	device := func(op types.VirtualDeviceConfigSpecOperation, d types.BaseVirtualDevice) types.BaseVirtualDeviceConfigSpec {
		return &types.VirtualDeviceConfigSpec{Operation: op, Device: d}
	}
	nic := &types.VirtualVmxnet3{VirtualVmxnet: types.VirtualVmxnet{VirtualEthernetCard: types.VirtualEthernetCard{
		VirtualDevice: types.VirtualDevice{Backing: &types.VirtualEthernetCardNetworkBackingInfo{Network: &network}},
	}}}
	for _, tc := range []struct {
		name string
		on   vc.Ref
		body any
		want []need
	}{
		{"CloneVM_Task", vm, &types.CloneVM_Task{This: vm, Folder: folder, Spec: types.VirtualMachineCloneSpec{
			Location: types.VirtualMachineRelocateSpec{Pool: &pool, Datastore: &ds},
		}}, []need{
			{"VirtualMachine.Provisioning.Clone", vm},
			{"VirtualMachine.Inventory.CreateFromExisting", folder},
			{"Resource.AssignVMToPool", pool},
			{"Datastore.AllocateSpace", ds},
		}},
		{"MigrateVM_Task", vm, &types.MigrateVM_Task{This: vm, Pool: &pool, Host: &host}, []need{
			{"Resource.ColdMigrate", vm}, {"Resource.AssignVMToPool", pool},
		}},
		{"ReconfigVM_Task", vm, &types.ReconfigVM_Task{This: vm, Spec: types.VirtualMachineConfigSpec{
			NumCPUs: 2, MemoryMB: 1024,
			DeviceChange: []types.BaseVirtualDeviceConfigSpec{
				add(new(types.VirtualDisk), ""),
				add(nic, ""),
				device(types.VirtualDeviceConfigSpecOperationRemove, new(types.VirtualDisk)),
				device(types.VirtualDeviceConfigSpecOperationRemove, nic),
				device(types.VirtualDeviceConfigSpecOperationEdit, new(types.VirtualDisk)),
			},
		}}, []need{
			{"VirtualMachine.Config.CPUCount", vm},
			{"VirtualMachine.Config.Memory", vm},
			{"VirtualMachine.Config.AddExistingDisk", vm},
			{"VirtualMachine.Config.AddRemoveDevice", vm},
			{"Network.Assign", network},
			{"VirtualMachine.Config.RemoveDisk", vm},
			{"VirtualMachine.Config.AddRemoveDevice", vm},
			{"VirtualMachine.Config.DiskExtend", vm},
		}},
		{"ReconfigVM_Task", vm, &types.ReconfigVM_Task{This: vm}, []need{{"VirtualMachine.Config.Settings", vm}}},
		{"MoveIntoFolder_Task", folder, &types.MoveIntoFolder_Task{This: folder, List: []vc.Ref{vm, ds}}, []need{
			{"VirtualMachine.Inventory.Move", vm},
			{"VirtualMachine.Inventory.Move", folder},
			{"Datastore.Move", ds},
			{"Datastore.Move", folder},
		}},
		{"CnsCreateVolume", volumes, &cns.CnsCreateVolume{This: volumes, CreateSpecs: []cns.CnsVolumeCreateSpec{{Datastores: []vc.Ref{ds}}}}, []need{
			{"Cns.Searchable", volumes}, {"Datastore.FileManagement", ds},
		}},
		{"CnsAttachVolume", volumes, &cns.CnsAttachVolume{This: volumes, AttachSpecs: []cns.CnsVolumeAttachDetachSpec{{Vm: vm}}}, []need{
			{"VirtualMachine.Config.AddExistingDisk", vm}, {"VirtualMachine.Config.AddRemoveDevice", vm},
		}},
		{"CnsDeleteVolume", volumes, &cns.CnsDeleteVolume{This: volumes, VolumeIds: []cns.CnsVolumeId{{Id: "unknown"}}, DeleteDisk: true}, []need{
			{"Cns.Searchable", volumes},
		}},
		{"CnsExtendVolume", volumes, &cns.CnsExtendVolume{This: volumes, ExtendSpecs: []cns.CnsVolumeExtendSpec{{VolumeId: cns.CnsVolumeId{Id: "disk"}}}}, []need{
			{"Cns.Searchable", volumes}, {"Datastore.FileManagement", ds},
		}},
		{"CnsRelocateVolume", volumes, &cns.CnsRelocateVolume{This: volumes, RelocateSpecs: []cns.BaseCnsVolumeRelocateSpec{
			&cns.CnsBlockVolumeRelocateSpec{CnsVolumeRelocateSpec: cns.CnsVolumeRelocateSpec{Datastore: ds}},
		}}, []need{{"Cns.Searchable", volumes}, {"Datastore.FileManagement", ds}}},
		{"CnsSyncDatastore", ref("CnsDebugManager"), new(cns.CnsSyncDatastore), []need{{"Cns.Searchable", ref("CnsDebugManager")}}},
		{"CreateFilter", ref("PropertyCollector"), new(types.CreateFilter), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx := simulator.NewContext()
			content, root := simulator.VPX().ServiceContent, simulator.VPX().RootFolder
			simulator.NewServiceInstance(ctx, content, root)
			ctx.Map.VStorageObjectManager().Catalog()[ds] = map[types.ID]*simulator.VStorageObject{{Id: "disk"}: {}}
			got := needsOf(ctx, &simulator.Method{Name: tc.name, This: tc.on, Body: tc.body})
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(need{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
