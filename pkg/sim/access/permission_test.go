package access_test

import (
	"errors"
	"testing"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/access"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// denied returns the object and privilege that a call failed for.
func denied(t *testing.T, err error) (vc.Ref, string) {
	t.Helper()
	if err == nil {
		t.Fatal("call is permitted")
	}
	if soap.IsSoapFault(err) {
		if f, ok := soap.ToSoapFault(err).VimFault().(types.NoPermission); ok {
			return *f.Object, f.PrivilegeId
		}
	}
	t.Fatalf("call failed with %v", err)
	return vc.Ref{}, ""
}

// grant fails the test if the permission cannot be granted.
func (v *vcenter) grant(t testing.TB, on vc.Ref, user, role string, propagate topology.Choice) {
	t.Helper()
	if err := v.Grant(on, []topology.Permission{{User: user, Role: role, Propagate: propagate}}); err != nil {
		t.Fatal(err)
	}
}

// sees reports whether the user of the client's session may see the object.
func (v *vcenter) sees(t testing.TB, c *vim25.Client, ref vc.Ref) bool {
	t.Helper()
	ctx := vc.Fresh(v.ctx)
	ctx.Session = &simulator.Session{UserSession: types.UserSession{Key: v.key(t, c), UserName: "any"}}
	return v.Visible(ctx, ref)
}

func TestVisible(t *testing.T) {
	v := newVCenter(t, access.Options{Users: users("cpi@vsphere.local")})
	dcs := v.all("Datacenter")
	v.grant(t, dcs[0], "cpi", "ReadOnly", "")
	c, all := v.as(t, "cpi"), v.as(t, admin)
	for _, kind := range []string{"VirtualMachine", "HostSystem", "Datastore", "ResourcePool", "Network", "ClusterComputeResource"} {
		for i, dc := range dcs {
			for _, ref := range v.in(dc, kind) {
				if got := v.sees(t, c, ref); got != (i == 0) {
					t.Errorf("%s in datacenter %d is visible: %v", ref, i, got)
				}
				if !v.sees(t, all, ref) {
					t.Errorf("%s is not visible to the administrator", ref)
				}
			}
		}
	}
	if !v.sees(t, c, v.root()) || !v.sees(t, c, dcs[0]) || v.sees(t, c, dcs[1]) {
		t.Error("the way to the datacenter, and no other, should be visible")
	}
	mine, others := v.in(dcs[0], "VirtualMachine"), v.in(dcs[1], "VirtualMachine")
	ctx := vc.Fresh(v.ctx)
	ctx.Session = &simulator.Session{UserSession: types.UserSession{Key: v.key(t, c), UserName: "any"}}
	if got := v.Filter(ctx, append(append([]vc.Ref(nil), others...), mine...)); len(got) != len(mine) || got[0] != mine[0] {
		t.Errorf("filtered to %v", got)
	}
	if !v.Allowed("CPI", "System.Read", mine[0]) || v.Allowed("cpi", "System.Read", others[0]) ||
		v.Allowed("cpi", "InventoryService.Tagging.AttachTag", mine[0]) || v.Allowed("nobody", "System.Read", mine[0]) ||
		!v.Allowed(admin, "InventoryService.Tagging.CreateTag", vc.Ref{}) || v.Allowed("cpi", "System.Read", vc.Ref{}) {
		t.Error("REST is told something else")
	}
	if !v.MayRead("cpi", mine[0]) || v.MayRead("cpi", v.root()) || v.MayRead("cpi", others[0]) ||
		v.MayTag("cpi", mine[0]) || v.MayTag("cpi", v.root()) || !v.MayTag(admin, mine[0]) || !v.MayTag(admin, v.root()) {
		t.Error("tagging is told something else")
	}
	if !v.Readable(ctx, mine[0]) || !v.Readable(ctx, v.root()) || v.Readable(ctx, others[0]) || !v.Readable(ctx, vc.Ref{Type: "Task", Value: "task-1"}) {
		t.Error("readable is something else")
	}
}

func TestSearchesFindNothing(t *testing.T) {
	v := newVCenter(t, access.Options{Users: users("cpi@vsphere.local")})
	dcs := v.all("Datacenter")
	v.grant(t, dcs[0], "cpi", "ReadOnly", "")
	c := v.as(t, "cpi")
	search := object.NewSearchIndex(c)
	for path, want := range map[string]bool{"/DC0": true, "/DC0/vm": true, "/DC1": false, "/DC1/vm/DC1_H0_VM0": false} {
		found, err := search.FindByInventoryPath(t.Context(), path)
		if err != nil || (found != nil) != want {
			t.Errorf("%s: %v, %v", path, found, err)
		}
	}
	if found, err := search.FindChild(t.Context(), object.NewReference(c, v.root()), "DC1"); err != nil || found != nil {
		t.Errorf("child DC1: %v, %v", found, err)
	}
}

func TestEnforcement(t *testing.T) {
	operator := topology.RoleDef{Name: "operator", Privileges: []string{"VirtualMachine.Interact.PowerOn", "VirtualMachine.Config.AddNewDisk"}}
	v := newVCenter(t, access.Options{Users: users("op@vsphere.local"), Roles: []topology.RoleDef{operator}})
	dcs := v.all("Datacenter")
	v.grant(t, dcs[0], "op", "operator", "")
	v.grant(t, dcs[1], "op", "ReadOnly", "")
	c := v.as(t, "op")
	vm := v.in(dcs[0], "VirtualMachine")[0]
	other := v.in(dcs[1], "VirtualMachine")[0]
	pool, ds := v.in(dcs[0], "ResourcePool")[0], v.in(dcs[0], "Datastore")[0]
	folder := v.in(dcs[0], "Folder")[0]
	host := v.in(dcs[0], "HostSystem")[0]

	if _, err := methods.PowerOnVM_Task(t.Context(), c, &types.PowerOnVM_Task{This: vm}); err != nil {
		t.Errorf("power on: %v", err)
	}
	for _, tc := range []struct {
		name      string
		call      func() error
		on        vc.Ref
		privilege string
	}{
		{"power off", func() error {
			_, err := methods.PowerOffVM_Task(t.Context(), c, &types.PowerOffVM_Task{This: vm})
			return err
		}, vm, "VirtualMachine.Interact.PowerOff"},
		{"power on elsewhere", func() error {
			_, err := methods.PowerOnVM_Task(t.Context(), c, &types.PowerOnVM_Task{This: other})
			return err
		}, other, "VirtualMachine.Interact.PowerOn"},
		{"create", func() error {
			_, err := methods.CreateVM_Task(t.Context(), c, &types.CreateVM_Task{This: folder, Pool: pool})
			return err
		}, folder, "VirtualMachine.Inventory.Create"},
		{"maintenance", func() error {
			_, err := methods.EnterMaintenanceMode_Task(t.Context(), c, &types.EnterMaintenanceMode_Task{This: host})
			return err
		}, host, "Host.Config.Maintenance"},
		{"rename", func() error {
			_, err := methods.ReconfigVM_Task(t.Context(), c, &types.ReconfigVM_Task{
				This: vm, Spec: types.VirtualMachineConfigSpec{Name: "x"},
			})
			return err
		}, vm, "VirtualMachine.Config.Rename"},
		{"new disk on a datastore without space", func() error {
			_, err := methods.ReconfigVM_Task(t.Context(), c, &types.ReconfigVM_Task{
				This: vm, Spec: types.VirtualMachineConfigSpec{DeviceChange: []types.BaseVirtualDeviceConfigSpec{
					&types.VirtualDeviceConfigSpec{
						Operation: types.VirtualDeviceConfigSpecOperationAdd, FileOperation: types.VirtualDeviceConfigSpecFileOperationCreate,
						Device: &types.VirtualDisk{VirtualDevice: types.VirtualDevice{Backing: &types.VirtualDiskFlatVer2BackingInfo{
							VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{Datastore: &ds},
						}}},
					},
				}},
			})
			return err
		}, ds, "Datastore.AllocateSpace"},
		{"options", func() error {
			_, err := methods.UpdateOptions(t.Context(), c, &types.UpdateOptions{This: *c.ServiceContent.Setting})
			return err
		}, v.root(), "Global.Settings"},
		{"sessions", func() error {
			_, err := methods.TerminateSession(t.Context(), c, &types.TerminateSession{This: *c.ServiceContent.SessionManager})
			return err
		}, v.root(), "Sessions.TerminateSession"},
		{"permissions", func() error {
			return object.NewAuthorizationManager(c).SetEntityPermissions(t.Context(), vm, []types.Permission{{Principal: "op", RoleId: -1}})
		}, vm, "Authorization.ModifyPermissions"},
		{"a file", func() error {
			_, err := methods.DeleteDatastoreFile_Task(t.Context(), c, &types.DeleteDatastoreFile_Task{
				This: *c.ServiceContent.FileManager, Name: "[LocalDS_0] x", Datacenter: &dcs[0],
			})
			return err
		}, ds, "Datastore.FileManagement"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			on, privilege := denied(t, tc.call())
			if on != tc.on || privilege != tc.privilege {
				t.Errorf("needs %s on %s, want %s on %s", privilege, on, tc.privilege, tc.on)
			}
		})
	}
}

// The group of administrators is there from the start, in either of vCenter's own domains.
func TestAdministratorsGroup(t *testing.T) {
	v := newVCenter(t, access.Options{Users: []topology.User{
		{Name: "a@vsphere.local", Password: "a", Groups: []string{"Administrators"}},
		{Name: "b@vsphere.local", Password: "b", Groups: []string{`VSPHERE.LOCAL\Administrators`}},
	}})
	for _, user := range []string{"a", "b"} {
		c := v.as(t, user)
		if !v.sees(t, c, v.all("VirtualMachine")[0]) || !v.MayTag(user, v.root()) {
			t.Errorf("%s is no administrator", user)
		}
	}
}

func TestStockPermissions(t *testing.T) {
	v := newVCenter(t, access.Options{Users: users("op@vsphere.local"), Stock: stock.Set{stock.Permissions}})
	c := v.as(t, "op")
	vm := v.all("VirtualMachine")[0]
	if _, err := methods.PowerOnVM_Task(t.Context(), c, &types.PowerOnVM_Task{This: vm}); err != nil {
		t.Error(err)
	}
	if !v.sees(t, c, vm) {
		t.Error("not visible")
	}
}

// A VM inherits from its folder and from its pool.
func TestTwoParents(t *testing.T) {
	v := newVCenter(t, access.Options{Users: users("a@vsphere.local", "b@vsphere.local", "c@vsphere.local")})
	dc := v.all("Datacenter")[0]
	folder := v.ctx.Map.Get(dc).(*simulator.Datacenter).VmFolder
	var clustered, single vc.Ref
	for _, ref := range v.in(dc, "VirtualMachine") {
		host := v.ctx.Map.Get(*v.ctx.Map.Get(ref).(*simulator.VirtualMachine).Runtime.Host).(*simulator.HostSystem)
		if host.Parent.Type == "ClusterComputeResource" {
			clustered = ref
		} else {
			single = ref
		}
	}
	host := *v.ctx.Map.Get(single).(*simulator.VirtualMachine).Runtime.Host
	v.grant(t, v.in(dc, "ClusterComputeResource")[0], "a", "ReadOnly", "")
	v.grant(t, host, "b", "ReadOnly", "")
	v.grant(t, dc, "c", "ReadOnly", "")
	v.grant(t, folder, "c", "NoAccess", "")
	a, b, c := v.as(t, "a"), v.as(t, "b"), v.as(t, "c")
	for _, tc := range []struct {
		name  string
		who   *vim25.Client
		on    vc.Ref
		wants bool
	}{
		{"VM in the cluster", a, clustered, true},
		{"VM beside the cluster", a, single, false},
		{"VM on the host", b, single, true},
		{"VM on another host", b, clustered, false},
		{"VM whose folder is closed, by its pool", c, clustered, true},
		{"folder of VMs, which is not above the cluster", a, folder, false},
	} {
		if got := v.sees(t, tc.who, tc.on); got != tc.wants {
			t.Errorf("%s: visible is %v", tc.name, got)
		}
	}
}

// What happens to the inventory after the permissions were set counts as well.
func TestInventoryChanges(t *testing.T) {
	v := newVCenter(t, access.Options{Users: users("cpi@vsphere.local")})
	dc := v.all("Datacenter")[0]
	admin, cpi := v.as(t, admin), func() *vim25.Client {
		f, err := object.NewFolder(v.as(t, admin), v.ctx.Map.Get(dc).(*simulator.Datacenter).VmFolder).CreateFolder(t.Context(), "nodes")
		if err != nil {
			t.Fatal(err)
		}
		v.grant(t, f.Reference(), "cpi", "ReadOnly", "")
		return v.as(t, "cpi")
	}()
	vm := v.in(dc, "VirtualMachine")[0]
	if v.sees(t, cpi, vm) {
		t.Fatal("visible too early")
	}
	finder := find.NewFinder(admin)
	folder, err := finder.Folder(t.Context(), "/DC0/vm/nodes")
	if err != nil {
		t.Fatal(err)
	}
	task, err := folder.MoveInto(t.Context(), []types.ManagedObjectReference{vm})
	if err == nil {
		err = task.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if !v.sees(t, cpi, vm) {
		t.Error("not visible in the folder")
	}
	pool := v.in(dc, "ResourcePool")[0]
	host := v.in(dc, "HostSystem")[0]
	created, err := folder.CreateVM(t.Context(), types.VirtualMachineConfigSpec{
		Name: "new", GuestId: "otherGuest", Files: &types.VirtualMachineFileInfo{VmPathName: "[LocalDS_0]"},
	}, object.NewResourcePool(admin, pool), object.NewHostSystem(admin, host))
	if err != nil {
		t.Fatal(err)
	}
	info, err := created.WaitForResult(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !v.sees(t, cpi, info.Result.(vc.Ref)) {
		t.Error("new VM is not visible")
	}
}

func TestAskedPrivileges(t *testing.T) {
	v := newVCenter(t, access.Options{Users: users("cpi@vsphere.local")})
	dcs := v.all("Datacenter")
	v.grant(t, dcs[0], "cpi", "ReadOnly", "")
	cpi, all := v.as(t, "cpi"), v.as(t, admin)
	mine, other := v.in(dcs[0], "VirtualMachine")[0], v.in(dcs[1], "VirtualMachine")[0]
	asked := []string{"System.Read", "VirtualMachine.Interact.PowerOn", "No.Such"}

	m := object.NewAuthorizationManager(cpi)
	got, err := m.HasPrivilegeOnEntity(t.Context(), mine, v.key(t, cpi), asked)
	if err != nil || len(got) != 3 || !got[0] || got[1] || got[2] {
		t.Errorf("own session: %v, %v", got, err)
	}
	_, err = m.HasPrivilegeOnEntity(t.Context(), other, v.key(t, cpi), asked)
	if on, p := denied(t, err); on != other || p != "System.Read" {
		t.Errorf("needs %s on %s", p, on)
	}
	_, err = m.HasPrivilegeOnEntity(t.Context(), mine, v.key(t, all), asked)
	if _, p := denied(t, err); p != "Sessions.ValidateSession" {
		t.Errorf("needs %s", p)
	}

	m = object.NewAuthorizationManager(all)
	answers, err := m.HasUserPrivilegeOnEntities(t.Context(), []vc.Ref{mine, other, dcs[1]}, `VSPHERE.LOCAL\cpi`, asked[:2])
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false, false} {
		if p := answers[i].PrivAvailability; p[0].IsGranted != want || p[1].IsGranted {
			t.Errorf("%s: %+v", answers[i].Entity, p)
		}
	}
	if _, err := m.HasUserPrivilegeOnEntities(t.Context(), []vc.Ref{mine}, "nobody", asked); !fault.Is(err, &types.UserNotFound{}) {
		t.Errorf("unknown user: %v", err)
	}
	if _, err := m.HasUserPrivilegeOnEntities(t.Context(), []vc.Ref{{Type: "VirtualMachine", Value: "vm-0"}}, "cpi", asked); !fault.Is(err, &types.ManagedObjectNotFound{}) {
		t.Errorf("unknown object: %v", err)
	}
	own, err := m.FetchUserPrivilegeOnEntities(t.Context(), []vc.Ref{mine, other}, "cpi")
	if err != nil || len(own[0].Privileges) != 3 || len(own[1].Privileges) != 0 {
		t.Errorf("all privileges: %+v, %v", own, err)
	}
}

func TestGrantErrors(t *testing.T) {
	v := newVCenter(t, access.Options{Users: users("cpi@vsphere.local")})
	for _, p := range []topology.Permission{{User: "nobody", Role: "Admin"}, {Group: "nobody", Role: "Admin"}, {User: "cpi", Role: "none"}} {
		if err := v.Grant(v.root(), []topology.Permission{p}); err == nil {
			t.Errorf("%+v is granted", p)
		}
	}
	if err := v.Grant(v.root(), []topology.Permission{{User: "nobody", Role: "Admin"}}); !errors.Is(err, access.ErrNoUser) {
		t.Errorf("unknown user: %v", err)
	}
}
