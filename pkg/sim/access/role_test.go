package access_test

import (
	"slices"
	"testing"

	"github.com/vmware/govmomi/event"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/access"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

func TestRoles(t *testing.T) {
	changes := make(chan struct{}, 100)
	v := newVCenter(t, access.Options{
		Users:    []topology.User{{Name: "op@vsphere.local", Password: "op@vsphere.local", Groups: []string{"ops"}}},
		Roles:    []topology.RoleDef{{Name: "reader", Privileges: []string{"Datastore.Browse"}}},
		OnChange: func() { changes <- struct{}{} },
	})
	m := object.NewAuthorizationManager(v.as(t, admin))
	vm := v.all("VirtualMachine")[0]

	list, err := m.RoleList(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Admin", "ReadOnly", "View", "NoAccess", "NoCryptoAdmin", "Anonymous", "reader"} {
		if list.ByName(name) == nil {
			t.Errorf("no role %s", name)
		}
	}
	if r := list.ByName("reader"); r == nil || !slices.Equal(r.Privilege, []string{"Datastore.Browse", "System.Anonymous", "System.Read", "System.View"}) {
		t.Errorf("reader is %+v", r)
	}

	id, err := m.AddRole(t.Context(), "power", []string{"VirtualMachine.Interact.PowerOn"})
	if err != nil || id <= 0 {
		t.Fatalf("new role %d: %v", id, err)
	}
	for name, err := range map[string]error{
		"same name": second(m.AddRole(t.Context(), "POWER", nil)),
		"privilege": second(m.AddRole(t.Context(), "x", []string{"No.Such"})),
		"system":    m.UpdateRole(t.Context(), -1, "x", nil),
		"unknown":   m.UpdateRole(t.Context(), 4711, "x", nil),
		"remove":    m.RemoveRole(t.Context(), -2, false),
	} {
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	err = m.SetEntityPermissions(t.Context(), vm, []types.Permission{{Principal: `vsphere.local\ops`, Group: true, RoleId: id, Propagate: true}})
	if err == nil {
		t.Error("a group of another domain is found")
	}
	err = m.SetEntityPermissions(t.Context(), vm, []types.Permission{{Principal: `vc.local\OPS`, Group: true, RoleId: id, Propagate: true}})
	if err != nil {
		t.Fatal(err)
	}
	<-changes
	op := v.as(t, "op")
	if _, err := methods.PowerOnVM_Task(t.Context(), op, &types.PowerOnVM_Task{This: vm}); err != nil {
		t.Errorf("power on: %v", err)
	}
	if err := m.RemoveRole(t.Context(), id, true); !fault.Is(err, &types.RemoveFailed{}) {
		t.Errorf("role in use: %v", err)
	}
	if err := m.UpdateRole(t.Context(), id, "weak", nil); err != nil {
		t.Fatal(err)
	}
	_, err = methods.PowerOffVM_Task(t.Context(), op, &types.PowerOffVM_Task{This: vm})
	denied(t, err)
	if err := m.RemoveRole(t.Context(), id, false); err != nil {
		t.Fatal(err)
	}
	if v.sees(t, op, vm) {
		t.Error("permission survives its role")
	}
	events(t, v, "RoleAddedEvent", "RoleUpdatedEvent", "RoleRemovedEvent", "PermissionAddedEvent")
}

func second[T any](_ T, err error) error { return err }

// events fails unless there was an event, with a message, of each of the types.
func events(t *testing.T, v *vcenter, kinds ...string) {
	t.Helper()
	m := event.NewManager(v.as(t, admin))
	all, err := m.QueryEvents(t.Context(), types.EventFilterSpec{EventTypeId: kinds, MaxCount: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds {
		if !slices.ContainsFunc(all, func(e types.BaseEvent) bool {
			return typeName(e) == kind && e.GetEvent().FullFormattedMessage != "" && e.GetEvent().UserName != ""
		}) {
			t.Errorf("no %s", kind)
		}
	}
}

func TestPermissions(t *testing.T) {
	v := newVCenter(t, access.Options{Users: users("op@vsphere.local")})
	m := object.NewAuthorizationManager(v.as(t, admin))
	dc := v.all("Datacenter")[0]
	vm := v.in(dc, "VirtualMachine")[0]
	set := func(on types.ManagedObjectReference, principal string, role int32) error {
		return m.SetEntityPermissions(t.Context(), on, []types.Permission{{Principal: principal, RoleId: role, Propagate: true}})
	}
	for _, tc := range []struct {
		name string
		err  error
		want types.BaseMethodFault
	}{
		{"unknown user", set(vm, "nobody", -2), &types.UserNotFound{}},
		{"unknown role", set(vm, "op", 4711), &types.NotFound{}},
		{"role that cannot be granted", set(vm, "op", -3), &types.InvalidArgument{}},
		{"no entity", set(m.Reference(), "op", -2), &types.InvalidArgument{}},
		{"last administrator", m.RemoveEntityPermission(t.Context(), v.root(), "nobody", false), &types.NotFound{}},
	} {
		if !fault.Is(tc.err, tc.want) {
			t.Errorf("%s: %v, want %T", tc.name, tc.err, tc.want)
		}
	}
	if err := set(dc, "op", -2); err != nil {
		t.Fatal(err)
	}
	if err := set(dc, `vsphere.local\OP`, -1); err != nil {
		t.Fatal(err)
	}
	list, err := m.RetrieveEntityPermissions(t.Context(), dc, false)
	if err != nil || len(list) != 1 || list[0].Principal != `VSPHERE.LOCAL\op` || list[0].RoleId != -1 {
		t.Errorf("permissions of the datacenter: %+v, %v", list, err)
	}
	inherited, err := m.RetrieveEntityPermissions(t.Context(), vm, true)
	if err != nil || len(inherited) != 4 {
		t.Errorf("permissions of the VM: %+v, %v", inherited, err)
	}
	if of, err := m.RetrieveRolePermissions(t.Context(), -1); err != nil || len(of) != 4 {
		t.Errorf("permissions of Admin: %+v, %v", of, err)
	}
	body, err := methods.MergePermissions(t.Context(), v.as(t, admin), &types.MergePermissions{This: m.Reference(), SrcRoleId: -1, DstRoleId: -2})
	if !fault.Is(err, &types.AuthMinimumAdminPermission{}) {
		t.Errorf("merge: %v, %v", body, err)
	}
	_, err = methods.ResetEntityPermissions(t.Context(), v.as(t, admin), &types.ResetEntityPermissions{This: m.Reference(), Entity: dc})
	if err != nil {
		t.Fatal(err)
	}
	if all, err := m.RetrieveAllPermissions(t.Context()); err != nil || len(all) != 3 {
		t.Errorf("all permissions: %+v, %v", all, err)
	}
	events(t, v, "PermissionAddedEvent", "PermissionUpdatedEvent", "PermissionRemovedEvent")

	// The administrator may shut out a colleague, but not everybody.
	if err := m.RemoveEntityPermission(t.Context(), v.root(), "administrators", true); err != nil {
		t.Error(err)
	}
	if err := m.RemoveEntityPermission(t.Context(), v.root(), "administrators@vsphere.local", true); err != nil {
		t.Error(err)
	}
	if err := m.RemoveEntityPermission(t.Context(), v.root(), admin, false); !fault.Is(err, &types.AuthMinimumAdminPermission{}) {
		t.Errorf("last administrator: %v", err)
	}
}

func TestUserDirectory(t *testing.T) {
	v := newVCenter(t, access.Options{Users: users("op@vsphere.local", "cpi@corp")})
	c := v.as(t, admin)
	res, err := methods.RetrieveUserGroups(t.Context(), c, &types.RetrieveUserGroups{
		This: *c.ServiceContent.UserDirectory, SearchStr: "", FindUsers: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range res.Returnval {
		names = append(names, r.GetUserSearchResult().FullName)
	}
	if !slices.Equal(names, []string{"administrator vc.local", "cpi corp", "op vsphere.local"}) {
		t.Errorf("users are %v", names)
	}
}

func TestPrivilegeList(t *testing.T) {
	v := newVCenter(t, access.Options{})
	c := v.as(t, admin)
	var m mo.AuthorizationManager
	err := mo.RetrieveProperties(t.Context(), c, c.ServiceContent.PropertyCollector, *c.ServiceContent.AuthorizationManager, &m)
	if err != nil || len(m.PrivilegeList) < 400 || len(m.RoleList) < 8 {
		t.Errorf("%d privileges, %d roles: %v", len(m.PrivilegeList), len(m.RoleList), err)
	}
}
