package roles_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/roles"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/privilege"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

const inventory = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: roles}
spec:
  vcenters:
    - name: vc
      users: [{name: ccm@vsphere.local}, {name: csi@vsphere.local}, {name: both@vsphere.local}]
      datacenters:
        - name: dc
          clusters: [{name: c1, hosts: [{name: h1}]}]
          datastores: [{name: shared}]
          vms: [{name: worker, folder: k8s, cluster: c1}]
`

// rig is a vCenter, and a session of the administrator's that can be made to fail.
type rig struct {
	*testing.T
	vim *vim25.Client

	writes int                   // so far
	fail   func(write int) error // in place of a write, or after it where after is set
	after  bool
}

func start(t *testing.T) *rig {
	t.Helper()
	return &rig{T: t, vim: sim.Start(t, inventory).Client("vc").Client}
}

// Do implements [roles.VCenter].
func (r *rig) Do(ctx context.Context, f func(context.Context, *vim25.Client) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	before := r.count()
	if r.fail != nil && !r.after {
		if err := r.fail(r.writes + 1); err != nil {
			return err
		}
	}
	err := f(ctx, r.vim)
	if now := r.count(); err == nil && now > before {
		r.writes++
		if r.fail != nil && r.after {
			return r.fail(r.writes)
		}
	}
	return err
}

func (r *rig) manager() *object.AuthorizationManager { return object.NewAuthorizationManager(r.vim) }

// count is how many roles and permissions there are.
func (r *rig) count() int { return len(r.state()) }

// state is all roles and permissions, as text.
func (r *rig) state() (all []string) {
	r.Helper()
	ctx := context.Background()
	known, err := r.manager().RoleList(ctx)
	if err != nil {
		r.Fatal(err)
	}
	for _, k := range known {
		all = append(all, k.Name+": "+strings.Join(k.Privilege, " "))
	}
	permissions, err := r.manager().RetrieveAllPermissions(ctx)
	if err != nil {
		r.Fatal(err)
	}
	for _, p := range permissions {
		text := p.Principal + " " + known.ById(p.RoleId).Name + " " + p.Entity.Type
		if p.Propagate {
			text += " and below"
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return all
}

func (r *rig) at(path string) []roles.Object {
	r.Helper()
	found, err := find.NewFinder(r.vim).ManagedObjectList(r.Context(), path)
	if err != nil || len(found) != 1 {
		r.Fatalf("%s: %v, %v", path, found, err)
	}
	return []roles.Object{{Ref: found[0].Object.Reference(), Path: path}}
}

func (r *rig) plan(ccm, csi string) *roles.Plan {
	r.Helper()
	p, err := roles.Make(roles.Request{
		VCenter: "vc", Users: map[privilege.Component]string{privilege.CCM: ccm, privilege.CSI: csi},
		Sites: roles.Sites{
			privilege.Root: {{Ref: r.vim.ServiceContent.RootFolder, Path: "/"}}, privilege.Above: {{Ref: r.vim.ServiceContent.RootFolder, Path: "/"}},
			privilege.Datacenter: r.at("/dc"), privilege.VMs: r.at("/dc/vm/k8s"), privilege.Datastore: r.at("/dc/datastore/shared"),
		},
	})
	if err == nil {
		err = p.Compare(r.Context(), r)
	}
	if err != nil {
		r.Fatal(err)
	}
	return p
}

func (r *rig) apply(p *roles.Plan) (reported []string, err error) {
	err = roles.Apply(r.Context(), []roles.Target{{Plan: p, VCenter: r}}, func(s string) { reported = append(reported, s) })
	return reported, err
}

// added is what is there now and was not before.
func added(before, now []string) []string {
	return slices.DeleteFunc(slices.Clone(now), func(s string) bool { return slices.Contains(before, s) })
}

// What is missing is made, once; asked again, all of it exists.
func TestCreate(t *testing.T) {
	r := start(t)
	before := r.state()
	p := r.plan("ccm@vsphere.local", "csi@vsphere.local")
	if a, b := p.Missing(); a != 3 || b != 6 {
		t.Errorf("%d roles and %d grants are missing", a, b)
	}
	reported, err := r.apply(p)
	if err != nil || len(reported) != 9 {
		t.Fatalf("%q, %v", reported, err)
	}
	want := []string{
		"CNS-DATASTORE: Datastore.FileManagement System.Anonymous System.Read System.View",
		"CNS-SEARCH-AND-SPBM: Cns.Searchable StorageProfile.View System.Anonymous System.Read System.View",
		"CNS-VM: System.Anonymous System.Read System.View VirtualMachine.Config.AddExistingDisk VirtualMachine.Config.AddRemoveDevice",
		`VSPHERE.LOCAL\ccm ReadOnly Datacenter and below`, `VSPHERE.LOCAL\ccm ReadOnly Folder`,
		`VSPHERE.LOCAL\csi CNS-DATASTORE Datastore`, `VSPHERE.LOCAL\csi CNS-SEARCH-AND-SPBM Folder`,
		`VSPHERE.LOCAL\csi CNS-VM Folder and below`, `VSPHERE.LOCAL\csi ReadOnly Datacenter and below`,
	}
	if d := cmp.Diff(want, added(before, r.state())); d != "" {
		t.Error(d)
	}
	again := r.plan(`vsphere.local\CCM`, "CSI@vsphere.local")
	if a, b := again.Missing(); a+b != 0 || len(again.Differences()) > 0 {
		t.Errorf("%+v", again)
	}
	if reported, err := r.apply(again); err != nil || len(reported) > 0 {
		t.Errorf("%q, %v", reported, err)
	}
}

// TestOneAccount: one account for both gets the role with all privileges on each object.
func TestOneAccount(t *testing.T) {
	r := start(t)
	p := r.plan("both@vsphere.local", "both@vsphere.local")
	if _, err := r.apply(p); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range r.state() {
		if strings.Contains(s, "both") {
			got = append(got, s)
		}
	}
	want := []string{
		`VSPHERE.LOCAL\both CNS-DATASTORE Datastore`, `VSPHERE.LOCAL\both CNS-SEARCH-AND-SPBM Folder`,
		`VSPHERE.LOCAL\both CNS-VM Folder and below`, `VSPHERE.LOCAL\both ReadOnly Datacenter and below`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestDiffers: a role that differs is reported and blocks everything; one with more privileges is kept.
func TestDiffers(t *testing.T) {
	for name, tc := range map[string]struct {
		before func(*rig)
		want   []string
	}{
		"role lacks": {func(r *rig) { r.role("cns-vm", "VirtualMachine.Config.AddExistingDisk") }, []string{
			"role CNS-VM: lacks VirtualMachine.Config.AddRemoveDevice",
		}},
		"role has more": {func(r *rig) { r.role("CNS-DATASTORE", "Datastore.FileManagement", "Datastore.Delete") }, []string{
			"role CNS-DATASTORE: has Datastore.Delete besides",
		}},
		"no access": {func(r *rig) { r.grant("/dc", "csi@vsphere.local", -5, true) }, []string{
			"csi@vsphere.local on /dc: has NoAccess there, which lacks System.Anonymous, System.View, System.Read",
		}},
		"not below": {func(r *rig) { r.grant("/dc", "ccm@vsphere.local", -2, false) }, []string{
			"ccm@vsphere.local on /dc: has ReadOnly there, which does not propagate",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t)
			tc.before(r)
			before := r.state()
			p := r.plan("ccm@vsphere.local", "csi@vsphere.local")
			_, err := r.apply(p)
			blocked, ok := errors.AsType[*roles.Blocked](err)
			if !ok {
				t.Fatalf("%v", err)
			}
			if d := cmp.Diff(tc.want, blocked.By); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(before, r.state()); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestCovered: an account with a stronger role on the object keeps it; with one above, the report has the effect.
func TestCovered(t *testing.T) {
	r := start(t)
	r.grant("/dc/datastore/shared", "csi@vsphere.local", -1, true)
	root := r.vim.ServiceContent.RootFolder
	if err := r.manager().SetEntityPermissions(t.Context(), root, []types.Permission{{Entity: &root, Principal: "ccm@vsphere.local", RoleId: -1, Propagate: true}}); err != nil {
		t.Fatal(err)
	}
	p := r.plan("ccm@vsphere.local", "csi@vsphere.local")
	states := map[string]roles.State{}
	for _, g := range p.Grants {
		states[string(g.Components[0])+" "+g.Object] = g.State
	}
	if states["csi /dc/datastore/shared"] != roles.Covered || states["ccm /"] != roles.Covered || states["ccm /dc"] != roles.Missing {
		t.Errorf("%v", states)
	}
	if _, err := r.apply(p); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(r.state(), `VSPHERE.LOCAL\csi Admin Datastore and below`) {
		t.Errorf("%q", r.state())
	}
	above := r.plan("ccm@vsphere.local", "csi@vsphere.local")
	if len(above.Notes) > 0 {
		t.Errorf("%q", above.Notes)
	}
}

func (r *rig) role(name string, privileges ...string) {
	r.Helper()
	if _, err := r.manager().AddRole(r.Context(), name, privileges); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) grant(path, user string, role int32, propagate bool) {
	r.Helper()
	ref := r.at(path)[0].Ref
	if err := r.manager().SetEntityPermissions(r.Context(), ref, []types.Permission{{Entity: &ref, Principal: user, RoleId: role, Propagate: propagate}}); err != nil {
		r.Fatal(err)
	}
}

var errDown = errors.New("connection reset")

// Wherever it fails, and wherever it is interrupted, what was done is taken back: also where the answer was lost.
func TestTakenBack(t *testing.T) {
	for at := 1; at <= 9; at++ {
		for _, lost := range []bool{false, true} {
			r := start(t)
			before := r.state()
			p := r.plan("ccm@vsphere.local", "csi@vsphere.local")
			failed := false
			r.after = lost
			r.fail = func(write int) error {
				if failed || write != at {
					return nil
				}
				failed = true
				return errDown
			}
			_, err := r.apply(p)
			undone, ok := errors.AsType[*roles.Undone](err)
			if !ok || !errors.Is(err, errDown) || len(undone.Left) > 0 {
				t.Errorf("%d, lost %t: %v", at, lost, err)
			}
			if d := cmp.Diff(before, r.state()); d != "" {
				t.Errorf("%d, lost %t: %s", at, lost, d)
			}
		}
	}
	r := start(t)
	before := r.state()
	p := r.plan("ccm@vsphere.local", "csi@vsphere.local")
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	err := roles.Apply(ctx, []roles.Target{{Plan: p, VCenter: r}}, func(string) {
		if n++; n == 5 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || len(added(before, r.state())) > 0 {
		t.Errorf("%v, %q", err, added(before, r.state()))
	}
}

// TestOthers: a role that another client creates at the same time stays, as does an unknown account.
func TestOthers(t *testing.T) {
	r := start(t)
	p := r.plan("ccm@vsphere.local", "csi@vsphere.local")
	r.role("CNS-VM", "VirtualMachine.Config.AddExistingDisk", "VirtualMachine.Config.AddRemoveDevice")
	before := r.state()
	if _, err := r.apply(p); err == nil || !strings.Contains(err.Error(), "create role CNS-VM") {
		t.Errorf("%v", err)
	}
	if d := cmp.Diff(before, r.state()); d != "" {
		t.Error(d)
	}
	unknownUser := r.plan("ccm@vsphere.local", "nobody@vsphere.local")
	if _, err := r.apply(unknownUser); err == nil || !strings.Contains(err.Error(), "to nobody@vsphere.local on") {
		t.Errorf("%v", err)
	}
	if d := cmp.Diff(before, r.state()); d != "" {
		t.Error(d)
	}
	late := r.plan("ccm@vsphere.local", "csi@vsphere.local")
	r.grant("/dc/vm/k8s", "csi@vsphere.local", -5, true)
	before = r.state()
	if _, err := r.apply(late); err == nil || !strings.Contains(err.Error(), "was not there before") {
		t.Errorf("%v", err)
	}
	if d := cmp.Diff(before, r.state()); d != "" {
		t.Error(d)
	}
}

func TestMake(t *testing.T) {
	for user, want := range map[string]string{
		"ccm": `account "ccm" of the ccm has no domain`, "@x": "no domain", `x\`: "no domain", "": "", "a@b": "", `B\a`: "",
	} {
		_, err := roles.Make(roles.Request{Users: map[privilege.Component]string{privilege.CCM: user}})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", user, err)
		}
	}
	same := []roles.Object{{Path: "/dc/datastore/x"}}
	_, err := roles.Make(roles.Request{
		Users: map[privilege.Component]string{privilege.CSI: "a@b"},
		Sites: roles.Sites{privilege.Datastore: same, privilege.VMs: same},
	})
	if err == nil || !strings.Contains(err.Error(), "two roles on /dc/datastore/x, CNS-DATASTORE and CNS-VM") {
		t.Errorf("%v", err)
	}
}

func TestGovc(t *testing.T) {
	p, err := roles.Make(roles.Request{
		VCenter: "west", Users: map[privilege.Component]string{privilege.CSI: `CORP\k8s csi`}, Options: []privilege.Option{privilege.FileVolumes},
		Sites: roles.Sites{privilege.Above: nil, privilege.Datacenter: {{Path: "/it's"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `# vcenter west
govc role.create CNS-SEARCH-AND-SPBM Cns.Searchable StorageProfile.View
govc role.create CNS-DATASTORE Datastore.FileManagement
govc role.create CNS-VM VirtualMachine.Config.AddExistingDisk VirtualMachine.Config.AddRemoveDevice
govc role.create CNS-HOST-CONFIG-STORAGE Host.Config.Storage
govc permissions.set -principal "$CCM_USER" -role ReadOnly -propagate=true '/it'"'"'s'
govc permissions.set -principal 'CORP\k8s csi' -role CNS-SEARCH-AND-SPBM -propagate=false /
govc permissions.set -principal 'CORP\k8s csi' -role ReadOnly -propagate=true '/it'"'"'s'
govc permissions.set -principal 'CORP\k8s csi' -role CNS-DATASTORE -propagate=false "/$DATACENTER/datastore/$DATASTORE"
govc permissions.set -principal 'CORP\k8s csi' -role CNS-VM -propagate=true "/$DATACENTER/vm/$VM_FOLDER"
govc permissions.set -principal 'CORP\k8s csi' -role CNS-HOST-CONFIG-STORAGE -propagate=true "/$DATACENTER/host/$CLUSTER"
`
	if d := cmp.Diff(want, p.Govc()); d != "" {
		t.Error(d)
	}
}
