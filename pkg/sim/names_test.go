package sim_test

import (
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
)

// TestNamesAreEscaped: every call that names stores a name as a vCenter does.
func TestNamesAreEscaped(t *testing.T) {
	race.SkipSlow(t)
	s := start(t, switches, nil)
	c := s.login(t, s.vcenter(t, "vc"))
	ctx := t.Context()
	root := object.NewRootFolder(c.Client)
	folder := func(path string) *object.Folder { return object.NewFolder(c.Client, ref(t, c, path)) }
	pool := object.NewResourcePool(c.Client, ref(t, c, "/dc/host/c1/Resources"))
	result := func(task *object.Task, err error) types.ManagedObjectReference {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		info, err := task.WaitForResult(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		made, _ := info.Result.(types.ManagedObjectReference)
		return made
	}
	ok := func(r object.Reference, err error) types.ManagedObjectReference {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return r.Reference()
	}
	vm := func(name string) types.ManagedObjectReference {
		return result(folder("/dc/vm").CreateVM(ctx, types.VirtualMachineConfigSpec{
			Name: name, GuestId: "otherGuest", Files: &types.VirtualMachineFileInfo{VmPathName: "[ds]"},
		}, pool, nil))
	}
	clone := func(name string) types.ManagedObjectReference {
		source := object.NewVirtualMachine(c.Client, vm("source of "+name))
		return result(source.Clone(ctx, folder("/dc/vm"), name, types.VirtualMachineCloneSpec{}))
	}
	calls := map[string]func(name string) types.ManagedObjectReference{
		"CreateFolder":     func(name string) types.ManagedObjectReference { return ok(folder("/dc/vm").CreateFolder(ctx, name)) },
		"CreateDatacenter": func(name string) types.ManagedObjectReference { return ok(root.CreateDatacenter(ctx, name)) },
		"CreateClusterEx": func(name string) types.ManagedObjectReference {
			return ok(folder("/dc/host").CreateCluster(ctx, name, types.ClusterConfigSpecEx{}))
		},
		"CreateResourcePool": func(name string) types.ManagedObjectReference {
			return ok(pool.Create(ctx, name, types.DefaultResourceConfigSpec()))
		},
		"CreateStoragePod": func(name string) types.ManagedObjectReference {
			return ok(folder("/dc/datastore").CreateStoragePod(ctx, name))
		},
		"CreateVM_Task": vm,
		"CloneVM_Task":  clone,
		"ReconfigVM_Task": func(name string) types.ManagedObjectReference {
			m := object.NewVirtualMachine(c.Client, vm("before "+name))
			must(t)(m.Reconfigure(ctx, types.VirtualMachineConfigSpec{Name: name}))
			return m.Reference()
		},
		"Rename_Task": func(name string) types.ManagedObjectReference {
			f := ok(folder("/dc/vm").CreateFolder(ctx, "before "+name))
			must(t)(object.NewCommon(c.Client, f).Rename(ctx, name))
			return f
		},
		"CreateDVS_Task": func(name string) types.ManagedObjectReference {
			return result(folder("/dc/network").CreateDVS(ctx, types.DVSCreateSpec{
				ConfigSpec: &types.VMwareDVSConfigSpec{DVSConfigSpec: types.DVSConfigSpec{Name: name}},
			}))
		},
		"AddDVPortgroup_Task": func(name string) types.ManagedObjectReference {
			dvs := object.NewDistributedVirtualSwitch(c.Client, ref(t, c, "/dc/network/dvs"))
			result(dvs.AddPortgroup(ctx, []types.DVPortgroupConfigSpec{{Name: name, Type: "earlyBinding", NumPorts: 1}}))
			var d mo.VmwareDistributedVirtualSwitch
			get(t, c, dvs.Reference(), &d, "portgroup")
			return d.Portgroup[len(d.Portgroup)-1]
		},
	}
	for call, do := range calls {
		for name, want := range map[string]string{
			call + " a/b": call + " a%2fb", call + ` a\b`: call + " a%5cb", call + " 100%": call + " 100%25",
			call + " c%2fd": call + " c%2fd", call + " 50%25": call + " 50%25", call + " %z": call + " %25z",
		} {
			if call == "CreateResourcePool" || call == "CreateStoragePod" {
				name, want = "p"+name, "p"+want
			}
			got, err := object.NewCommon(c.Client, do(name)).ObjectName(ctx)
			if err != nil || got != want {
				t.Errorf("%s of %q makes %q, %v; want %q", call, name, got, err, want)
			}
		}
	}
}
