package inventory_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// TestLikeVCSim compares a VM with one that vcsim made of the same specification.
func TestLikeVCSim(t *testing.T) {
	v := build(t, two)
	var ours mo.VirtualMachine
	v.get(t, v.ref(t, "/dc/vm/one"), &ours)
	folder, err := v.finder.Folder(t.Context(), "/dc/vm")
	if err != nil {
		t.Fatal(err)
	}
	var changes []types.BaseVirtualDeviceConfigSpec
	for _, d := range ours.Config.Hardware.Device {
		if key := d.GetVirtualDevice().Key; key < 1000 || key > 5000 {
			continue // vcsim gives these to every VM
		}
		change := &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: d}
		if disk, ok := d.(*types.VirtualDisk); ok {
			change.FileOperation = types.VirtualDeviceConfigSpecFileOperationCreate
			file := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
			file.FileName = strings.ReplaceAll(file.FileName, "one", "oen")
		}
		changes = append(changes, change)
	}
	spec := types.VirtualMachineConfigSpec{
		Name: "oen", Uuid: ours.Config.Uuid, InstanceUuid: ours.Config.InstanceUuid, GuestId: ours.Config.GuestId,
		NumCPUs: ours.Config.Hardware.NumCPU, MemoryMB: int64(ours.Config.Hardware.MemoryMB), Version: ours.Config.Version,
		Files: &types.VirtualMachineFileInfo{VmPathName: "[dc-ds] oen/oen.vmx"}, DeviceChange: changes,
	}
	pool, err := v.finder.ResourcePool(t.Context(), "/dc/host/c/Resources")
	if err != nil {
		t.Fatal(err)
	}
	host := object.NewHostSystem(v.Client, *ours.Runtime.Host)
	ref := must(t)(folder.CreateVM(t.Context(), spec, pool, host)).(types.ManagedObjectReference)
	var theirs mo.VirtualMachine
	v.get(t, ref, &theirs)
	v.get(t, v.ref(t, "/dc/vm/one"), &ours)

	rename := cmp.Transformer("name", func(s string) string { return strings.ReplaceAll(s, "oen", "one") })
	known := cmp.FilterPath(func(p cmp.Path) bool {
		switch p.String() {
		case "Config.Hardware.Device.VirtualController.Device", // vcsim does not list them all
			"ManagedEntity.ExtensibleManagedObject.Self", "Summary.Vm", "RecentTask", "ManagedEntity.RecentTask", // not the same VM
			"Config.ChangeVersion", "Config.Modified", "Config.CreateDate",
			"Config.GuestFullName", "Summary.Config.GuestFullName", // vcsim has the identifier
			"Runtime.MaxCpuUsage", "Runtime.MaxMemoryUsage", "Summary.Runtime.MaxCpuUsage", "Summary.Runtime.MaxMemoryUsage", // vcsim has none
			"GuestHeartbeatStatus", "Guest.GuestState", "Guest.GuestId", "Summary.Guest.ToolsRunningStatus", // vcsim has none
			"Guest.ToolsStatus", "Summary.Guest.ToolsStatus", "Guest.GuestOperationsReady", // our guests have tools
			"Guest.Net",                                      // vcsim lists cards of a VM that is off
			"LayoutEx.File.Size", "LayoutEx.File.UniqueSize", // its log has a line, its names another length
			"Layout.Disk", "LayoutEx.Disk", "LayoutEx.File.Key", "LayoutEx.File", // in another order
			"Storage.PerDatastoreUsage", "Summary.Storage.Committed", "Summary.Storage.Uncommitted", "Summary.Storage.Unshared",
			"Config.LatencySensitivity":
			return true
		}
		return false
	}, cmp.Ignore())
	if diff := cmp.Diff(theirs, ours, rename, known, cmpopts.IgnoreTypes(theirs.LayoutEx.Timestamp), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("VM (-vcsim +here):\n%s", diff)
	}
}

// TestFiles compares the directories of the two.
func TestFiles(t *testing.T) {
	v := build(t, two)
	var names []string
	err := filepath.WalkDir(filepath.Join(v.target.Dir, "dc", "dc-ds", "one"), func(path string, d fs.DirEntry, err error) error {
		names = append(names, d.Name())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"one", "one-flat.vmdk", "one.nvram", "one.vmdk", "one.vmx", "vmware.log"}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	// RefreshStorageInfo looks into the directory: it finds what was said before.
	vm := v.ctx.Map.Get(v.at("/dc/vm/one")[0]).(*simulator.VirtualMachine)
	before := *vm.LayoutEx
	ctx := *v.ctx
	ctx.WithLock(vm, func() { vm.RefreshStorageInfo(&ctx, nil) })
	opt := cmpopts.IgnoreFields(types.VirtualMachineFileLayoutEx{}, "Timestamp")
	if diff := cmp.Diff(before, *vm.LayoutEx, opt); diff != "" {
		t.Errorf("layout after a refresh (-before +after):\n%s", diff)
	}
}
