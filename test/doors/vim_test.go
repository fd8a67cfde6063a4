package doors

import (
	"github.com/vmware/govmomi/event"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/performance"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// ofVIM are the main calls to /sdk, the API of the inventory.
var ofVIM = []api{
	{"vim25: sessions and settings", func(s *side) {
		s.tap(s.vim.Client)
		_, err := methods.GetCurrentTime(s.ctx, s.vim)
		s.must(err)
		m := session.NewManager(s.vim)
		_, err = m.UserSession(s.ctx)
		s.must(err)
		s.fails(m.Login(s.ctx, nil))
		_, err = object.NewOptionManager(s.vim, *s.vim.ServiceContent.Setting).Query(s.ctx, "VirtualCenter.InstanceName")
		s.must(err)
		_, err = object.NewOptionManager(s.vim, *s.vim.ServiceContent.Setting).Query(s.ctx, "no.such.option")
		s.fails(err)
		access := object.NewAuthorizationManager(s.vim)
		_, err = access.RoleList(s.ctx)
		s.must(err)
		role, err := access.AddRole(s.ctx, "reader", []string{"System.Read"})
		s.must(err)
		s.must(access.UpdateRole(s.ctx, role, "looker", []string{"System.View"}))
		s.must(access.RemoveRole(s.ctx, role, false))
		s.must(access.SetEntityPermissions(s.ctx, s.vm, []types.Permission{{Principal: "VSPHERE.LOCAL\\Administrators", Group: true, RoleId: -1, Propagate: true}}))
		_, err = access.RetrieveEntityPermissions(s.ctx, s.vm, false)
		s.must(err)
		fields, err := object.GetCustomFieldsManager(s.vim)
		s.must(err)
		def, err := fields.Add(s.ctx, "owner", "VirtualMachine", nil, nil)
		s.must(err)
		s.must(fields.Set(s.ctx, s.vm, def.Key, "eve"))
		s.must(fields.Remove(s.ctx, def.Key))
	}, map[string]string{
		"propSet\\[roleList\\]/AuthorizationRole":              "the elements of an array value have their type: docs/simulation.md",
		"^RetrieveEntityPermissions: not recorded: .*/entity$": "a permission says on which object it is",
	}},
	{"vim25: properties and search", func(s *side) {
		s.tap(s.vim.Client)
		c := property.DefaultCollector(s.vim)
		var vm mo.VirtualMachine
		s.must(c.RetrieveOne(s.ctx, s.vm, []string{"name", "parent", "runtime.powerState", "config.uuid", "config.hardware.numCPU"}, &vm))
		s.fails(c.RetrieveOne(s.ctx, s.vm, []string{"no.such"}, &vm))
		s.fails(c.RetrieveOne(s.ctx, types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-99999"}, []string{"name"}, &vm))
		m := view.NewManager(s.vim)
		all, err := m.CreateContainerView(s.ctx, s.vim.ServiceContent.RootFolder, []string{"VirtualMachine", "HostSystem", "Datastore"}, true)
		s.must(err)
		var found []mo.ManagedEntity
		s.must(all.Retrieve(s.ctx, []string{"ManagedEntity"}, []string{"name", "parent"}, &found))
		s.must(all.Destroy(s.ctx))
		index := object.NewSearchIndex(s.vim)
		for _, path := range []string{"/DC0/vm", "/DC0/host/DC0_C0", "/DC0/none"} {
			_, err = index.FindByInventoryPath(s.ctx, path)
			s.must(err)
		}
		_, err = index.FindByUuid(s.ctx, nil, vm.Config.Uuid, true, nil)
		s.must(err)
		_, err = index.FindByUuid(s.ctx, nil, "00000000-0000-0000-0000-000000000000", true, nil)
		s.must(err)
		_, err = index.FindByDnsName(s.ctx, nil, "absent.example", true)
		s.must(err)
		_, err = index.FindByIp(s.ctx, nil, "192.0.2.1", true)
		s.must(err)
		_, err = index.FindChild(s.ctx, s.vim.ServiceContent.RootFolder, "DC0")
		s.must(err)
	}, nil},
	{"vim25: virtual machines", func(s *side) {
		vm := object.NewVirtualMachine(s.vim, s.vm)
		wait := func(task *object.Task, err error) {
			s.t.Helper()
			s.must(err)
			s.must(task.Wait(s.ctx))
		}
		refused := func(task *object.Task, err error) {
			s.t.Helper()
			if err == nil {
				err = task.Wait(s.ctx)
			}
			s.fails(err)
		}
		if on, err := vm.PowerState(s.ctx); err == nil && on == types.VirtualMachinePowerStatePoweredOn {
			wait(vm.PowerOff(s.ctx))
		}
		s.tap(s.vim.Client) // from here on the state is the same
		refused(vm.PowerOff(s.ctx))
		wait(vm.Reconfigure(s.ctx, types.VirtualMachineConfigSpec{NumCPUs: 2, Annotation: "changed"}))
		wait(vm.Rename(s.ctx, "renamed"))
		wait(vm.CreateSnapshot(s.ctx, "before", "", false, false))
		wait(vm.RevertToCurrentSnapshot(s.ctx, true))
		refused(vm.RevertToSnapshot(s.ctx, "none", true))
		wait(vm.RemoveAllSnapshot(s.ctx, nil))
		folder := object.NewFolder(s.vim, s.folder())
		refused(vm.Clone(s.ctx, folder, "renamed", types.VirtualMachineCloneSpec{}))
		task, err := vm.Clone(s.ctx, folder, "copy", types.VirtualMachineCloneSpec{})
		s.must(err)
		info, err := task.WaitForResult(s.ctx)
		s.must(err)
		wait(vm.Rename(s.ctx, "DC0_C0_RP0_VM1"))
		copied := object.NewVirtualMachine(s.vim, info.Result.(types.ManagedObjectReference))
		s.must(copied.Unregister(s.ctx))
		refused(copied.Destroy(s.ctx))
	}, nil},
	{"vim25: a name that is taken", func(s *side) {
		s.tap(s.vim.Client)
		pool, err := object.NewClusterComputeResource(s.vim, s.cluster).ResourcePool(s.ctx)
		s.must(err)
		folder := object.NewFolder(s.vim, s.folder())
		_, _ = folder.CreateVM(s.ctx, types.VirtualMachineConfigSpec{
			Name: "DC0_C0_RP0_VM1", GuestId: "otherGuest", Files: &types.VirtualMachineFileInfo{VmPathName: "[LocalDS_0]"},
		}, pool, nil) // compared below
		_, _ = pool.ImportVApp(s.ctx, &types.VirtualMachineImportSpec{ConfigSpec: types.VirtualMachineConfigSpec{
			Name: "DC0_C0_RP0_VM1", GuestId: "otherGuest", Files: &types.VirtualMachineFileInfo{VmPathName: "[LocalDS_0]"},
		}}, folder, nil)
	}, map[string]string{
		"^CreateVM_Task: (status 500|not there: CreateVM_TaskResponse|not recorded: Fault)": "a folder has one VM of a name",
		"^ImportVApp: (status 500|not there: ImportVAppResponse|not recorded: Fault)":       "a folder has one VM of a name",
	}},
	{"vim25: folders, hosts, events", func(s *side) {
		s.tap(s.vim.Client)
		folder := object.NewFolder(s.vim, s.folder())
		made, err := folder.CreateFolder(s.ctx, "team")
		s.must(err)
		_, err = folder.CreateFolder(s.ctx, "team")
		s.fails(err)
		gone, err := made.Destroy(s.ctx)
		s.must(err)
		s.must(gone.Wait(s.ctx))
		hosts, err := object.NewClusterComputeResource(s.vim, s.cluster).Hosts(s.ctx)
		s.must(err)
		_, err = hosts[0].ConfigManager().OptionManager(s.ctx)
		s.must(err)
		_, err = event.NewManager(s.vim).QueryEvents(s.ctx, types.EventFilterSpec{
			EventTypeId: []string{"NoSuchEvent"},
		})
		s.must(err)
		collector, err := task.NewManager(s.vim).CreateCollectorForTasks(s.ctx, types.TaskFilterSpec{State: []types.TaskInfoState{types.TaskInfoStateQueued}})
		s.must(err)
		s.must(collector.Destroy(s.ctx))
		perf := performance.NewManager(s.vim)
		_, err = perf.CounterInfo(s.ctx)
		s.must(err)
		_, err = perf.ProviderSummary(s.ctx, s.vm)
		s.must(err)
		_, err = perf.AvailableMetric(s.ctx, s.vm, 20)
		s.must(err)
	}, map[string]string{
		"propSet\\[perfCounter\\]/PerfCounterInfo": "the elements of an array value have their type: docs/simulation.md",
	}},
	{"vim25: without a session", func(s *side) {
		s.tap(s.vim.Client)
		s.must(session.NewManager(s.vim).Logout(s.ctx))
		_, err := methods.GetCurrentTime(s.ctx, s.vim)
		s.fails(err)
		_, err = object.NewVirtualMachine(s.vim, s.vm).PowerOff(s.ctx)
		s.fails(err)
		_, err = methods.GetServiceContent(s.ctx, s.vim) // needs none
		s.must(err)
		s.fails(property.DefaultCollector(s.vim).RetrieveOne(s.ctx, s.vm, []string{"name"}, new(mo.VirtualMachine)))
		s.must(session.NewManager(s.vim).Login(s.ctx, s.user))
	}, map[string]string{
		"^RetrievePropertiesEx: (status 500|not there: RetrievePropertiesExResponse|not recorded: Fault)": "without a session no property is read, instead of each being missing",
	}},
}

// folder is that of the datacenter's VMs.
func (s *side) folder() types.ManagedObjectReference {
	s.t.Helper()
	ref, err := object.NewSearchIndex(s.vim).FindByInventoryPath(s.ctx, "/DC0/vm")
	s.must(err)
	return ref.Reference()
}
