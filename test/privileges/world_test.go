package privileges

import (
	"context"
	"slices"
	"testing"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/roles"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/privilege"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

const (
	ccmUser = "ccm@vsphere.local"
	csiUser = "csi@vsphere.local"

	password = "s3cret"
	uuid     = "423a0000-0000-4000-8000-000000000001"
	offUUID  = "423a0000-0000-4000-8000-000000000002"
)

// inventory has its region on a folder above the datacenter, its zone on the compute cluster, its nodes in a folder.
const inventory = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: privileges}
spec:
  tagCategories: [{name: tier, types: [Datastore]}]
  vcenters:
    - name: vc
      users: [{name: ` + ccmUser + `, password: ` + password + `}, {name: ` + csiUser + `, password: ` + password + `}]
      policies: [{name: gold, tags: [{category: tier, name: gold}]}]
      folders: [{path: americas, region: us}]
      datacenters:
        - name: dc
          folder: americas
          clusters: [{name: c1, zone: us-west, hosts: [{name: h1}]}]
          datastores: [{name: shared, tags: [{category: tier, name: gold}]}]
          vms:
            - {name: worker, folder: k8s, cluster: c1, hostname: worker, uuid: ` + uuid + `}
            - {name: off, folder: k8s, cluster: c1, hostname: off, uuid: ` + offUUID + `, power: "off"}
`

// world is a vCenter whose accounts have the roles of a plan.
type world struct {
	t    *testing.T
	lab  *sim.Lab
	boss *vim25.Client
	plan *roles.Plan
}

// direct is a session of the administrator's.
type direct struct{ *vim25.Client }

func (d direct) Do(ctx context.Context, f func(context.Context, *vim25.Client) error) error {
	return f(ctx, d.Client)
}

// begin starts a vCenter and grants every role, those of the options among them.
func begin(t *testing.T, options ...privilege.Option) *world {
	t.Helper()
	return beginOn(t, inventory, "", options...)
}

// beginOn is begin on another inventory, without the grants on one kind of site.
func beginOn(t *testing.T, inventory string, but privilege.Site, options ...privilege.Option) *world {
	t.Helper()
	w := &world{t: t, lab: sim.Start(t, inventory)}
	w.boss = w.lab.Client("vc").Client
	sites := w.sites()
	if but != "" {
		sites[but] = nil
	}
	var err error
	w.plan, err = roles.Make(roles.Request{
		VCenter: "vc", Sites: sites, Users: map[privilege.Component]string{privilege.CCM: ccmUser, privilege.CSI: csiUser},
		Options: options,
	})
	if err == nil {
		err = w.plan.Compare(t.Context(), direct{w.boss})
	}
	if err != nil {
		t.Fatal(err)
	}
	w.create()
	return w
}

// create does what the commands of the plan do.
func (w *world) create() {
	w.t.Helper()
	m := object.NewAuthorizationManager(w.boss)
	ids := map[string]int32{"ReadOnly": -2}
	for _, r := range w.plan.Roles {
		if r.System {
			continue
		}
		id, err := m.AddRole(w.t.Context(), r.Name, r.Privileges)
		if err != nil {
			w.t.Fatal(err)
		}
		ids[r.Name] = id
	}
	for _, g := range w.plan.Grants {
		on := w.boss.ServiceContent.RootFolder
		if g.Object != "/" {
			on = w.ref(g.Object)
		}
		err := m.SetEntityPermissions(w.t.Context(), on, []types.Permission{{Entity: &on, Principal: g.User, RoleId: ids[g.Role], Propagate: g.Propagate}})
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// sites are where the roles are granted.
func (w *world) sites() roles.Sites {
	at := func(paths ...string) (all []roles.Object) {
		for _, path := range paths {
			all = append(all, roles.Object{Ref: w.ref(path), Path: path})
		}
		return all
	}
	return roles.Sites{
		privilege.Root:       {{Ref: w.boss.ServiceContent.RootFolder, Path: "/"}},
		privilege.Above:      at("/americas"),
		privilege.Datacenter: at("/americas/dc"),
		privilege.VMs:        at("/americas/dc/vm/k8s"),
		privilege.Datastore:  at("/americas/dc/datastore/shared"),
		privilege.Cluster:    at("/americas/dc/host/c1"),
	}
}

func (w *world) ref(path string) types.ManagedObjectReference {
	w.t.Helper()
	found, err := find.NewFinder(w.boss).ManagedObjectList(w.t.Context(), path)
	if err != nil || len(found) != 1 {
		w.t.Fatalf("%s: %v, %v", path, found, err)
	}
	return found[0].Object.Reference()
}

// lack takes a privilege out of a role.
func (w *world) lack(role, id string) {
	w.t.Helper()
	m := object.NewAuthorizationManager(w.boss)
	known, err := m.RoleList(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	r := known.ByName(role)
	rest := slices.DeleteFunc(slices.Clone(r.Privilege), func(s string) bool { return s == id })
	if len(rest) != len(r.Privilege)-1 {
		w.t.Fatalf("%s has no %s", role, id)
	}
	if err := m.UpdateRole(w.t.Context(), r.RoleId, role, rest); err != nil {
		w.t.Fatal(err)
	}
}

// revoke takes a grant back.
func (w *world) revoke(g privilege.Grant) {
	w.t.Helper()
	user := map[privilege.Component]string{privilege.CCM: ccmUser, privilege.CSI: csiUser}[g.Component]
	for _, o := range w.sites()[g.On] {
		if err := object.NewAuthorizationManager(w.boss).RemoveEntityPermission(w.t.Context(), o.Ref, user, false); err != nil {
			w.t.Fatal(err)
		}
	}
}
