package roles_test

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/cli"
	_ "github.com/vmware/govmomi/cli/permissions" // permissions.set
	_ "github.com/vmware/govmomi/cli/role"        // role.create
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

// rig is a vCenter, and a session of the administrator's.
type rig struct {
	*testing.T
	vim *vim25.Client
	url string
}

func start(t *testing.T) *rig {
	t.Helper()
	lab := sim.Start(t, inventory)
	v, _ := lab.VCenter("vc")
	u := v.URL()
	u.User = url.UserPassword(v.User(), v.Password())
	return &rig{t, lab.Client("vc").Client, u.String()}
}

// Do implements [roles.VCenter].
func (r *rig) Do(ctx context.Context, f func(context.Context, *vim25.Client) error) error {
	return f(ctx, r.vim)
}

func (r *rig) manager() *object.AuthorizationManager { return object.NewAuthorizationManager(r.vim) }

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

// apply runs the commands of the plan, and returns how many there were.
func (r *rig) apply(p *roles.Plan) (n int) {
	r.Helper()
	for line := range strings.Lines(p.Govc()) {
		command, ok := strings.CutPrefix(line, "govc ")
		if !ok {
			continue
		}
		args := strings.Fields(command)
		if status := cli.Run(slices.Insert(args, 1, "-u", r.url, "-k", "-persist-session=false")); status != 0 {
			r.Fatalf("%s: ended with %d", command, status)
		}
		n++
	}
	return n
}

// added is what is there now and was not before.
func added(before, now []string) []string {
	return slices.DeleteFunc(slices.Clone(now), func(s string) bool { return slices.Contains(before, s) })
}

// The commands create what is missing; compared again, all of it exists.
func TestCreate(t *testing.T) {
	r := start(t)
	before := r.state()
	if n := r.apply(r.plan("ccm@vsphere.local", "csi@vsphere.local")); n != 9 {
		t.Errorf("%d commands", n)
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
	if text := r.plan(`vsphere.local\CCM`, "CSI@vsphere.local").Govc(); text != "# vcenter vc\n" {
		t.Error(text)
	}
}

// TestOneAccount: one account for both gets the role with all privileges on each object.
func TestOneAccount(t *testing.T) {
	r := start(t)
	r.apply(r.plan("both@vsphere.local", "both@vsphere.local"))
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

// TestDiffers: a role or permission that differs is a comment, and stays.
func TestDiffers(t *testing.T) {
	for name, tc := range map[string]struct {
		before func(*rig)
		want   []string
	}{
		"role lacks": {func(r *rig) { r.role("cns-vm", "VirtualMachine.Config.AddExistingDisk") }, []string{
			"role CNS-VM is there and differs: lacks VirtualMachine.Config.AddRemoveDevice",
		}},
		"role has more": {func(r *rig) { r.role("CNS-DATASTORE", "Datastore.FileManagement", "Datastore.Delete") }, []string{
			"role CNS-DATASTORE is there and differs: has Datastore.Delete besides",
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
			p := r.plan("ccm@vsphere.local", "csi@vsphere.local")
			var got []string
			for line := range strings.Lines(p.Govc()) {
				if text, ok := strings.CutPrefix(line, "# "); ok && !strings.HasPrefix(text, "vcenter") && !strings.HasPrefix(text, "govc") {
					got = append(got, strings.TrimSpace(text))
				}
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
			r.apply(p)
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
	r.apply(p)
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
