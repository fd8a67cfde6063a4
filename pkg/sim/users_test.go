package sim_test

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// guarded is a vCenter with two datacenters, of which the user cpi may read one.
const guarded = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: guarded}
spec:
  vcenters:
    - name: vc
      users:
        - {name: cpi@vsphere.local, password: "secret of cpi"}
        - {name: nobody@vsphere.local, password: "secret of nobody"}
      datacenters:
        - name: west
          region: r
          zone: z-west
          permissions: [{user: cpi@vsphere.local, role: ReadOnly}]
          clusters: [{name: c1, hosts: [{name: "w-{n}", replicas: 2}]}]
          vms: [{name: "west-{n}", replicas: 3}]
        - name: east
          region: r
          zone: z-east
          clusters: [{name: c1, hosts: [{name: "e-{n}", replicas: 2}]}]
          vms: [{name: "east-{n}", replicas: 3}]
`

// machine is a VM as an administrator sees it.
func machine(t *testing.T, c *govmomi.Client, path string) mo.VirtualMachine {
	t.Helper()
	var m mo.VirtualMachine
	get(t, c, vm(t, c, path).Reference(), &m, "name", "config.uuid", "guest", "summary.config.vmPathName")
	return m
}

func TestRestrictedUserSearches(t *testing.T) {
	lab := sim.Start(t, guarded)
	boss, cpi := lab.Client("vc"), lab.ClientAs("vc", "cpi@vsphere.local", "secret of cpi")
	seen, unseen := machine(t, boss, "/west/vm/west-1"), machine(t, boss, "/east/vm/east-1")
	dcs, err := find.NewFinder(cpi.Client, true).DatacenterList(t.Context(), "*")
	if err != nil || len(dcs) != 1 || dcs[0].Name() != "west" {
		t.Errorf("datacenters %v, %v", dcs, err)
	}
	east := object.NewDatacenter(cpi.Client, ref(t, boss, "/east"))
	index := object.NewSearchIndex(cpi.Client)
	for _, tc := range []struct {
		name string
		find func(mo.VirtualMachine, *object.Datacenter) (object.Reference, error)
	}{
		{"uuid", func(m mo.VirtualMachine, dc *object.Datacenter) (object.Reference, error) {
			return index.FindByUuid(t.Context(), dc, m.Config.Uuid, true, nil)
		}},
		{"dns name", func(m mo.VirtualMachine, dc *object.Datacenter) (object.Reference, error) {
			return index.FindByDnsName(t.Context(), dc, m.Guest.HostName, true)
		}},
		{"address", func(m mo.VirtualMachine, dc *object.Datacenter) (object.Reference, error) {
			return index.FindByIp(t.Context(), dc, m.Guest.IpAddress, true)
		}},
		{"path", func(m mo.VirtualMachine, _ *object.Datacenter) (object.Reference, error) {
			return index.FindByInventoryPath(t.Context(), "/"+m.Name[:4]+"/vm/"+m.Name)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if found, err := tc.find(seen, nil); err != nil || found == nil || found.Reference() != seen.Self {
				t.Errorf("%s: %v, %v", seen.Name, found, err)
			}
			for _, dc := range []*object.Datacenter{nil, east} {
				if found, err := tc.find(unseen, dc); found != nil || err != nil && !fault.Is(err, new(types.NoPermission)) {
					t.Errorf("%s in %v: %v, %v", unseen.Name, dc, found, err)
				}
			}
		})
	}

	var got []mo.VirtualMachine
	if err := retrieve(t, cpi, unseen.Self, &got, "name"); err == nil && len(got) > 0 {
		t.Errorf("read %v", got)
	}
	for _, m := range []mo.VirtualMachine{seen, unseen} {
		_, err := object.NewVirtualMachine(cpi.Client, m.Self).PowerOff(t.Context())
		if !fault.Is(err, new(types.NoPermission)) {
			t.Errorf("power off %s: %v", m.Name, err)
		}
	}
}

func TestUserWithoutPermissionsHasNoSession(t *testing.T) {
	lab := sim.Start(t, guarded)
	v, _ := lab.VCenter("vc")
	c := session.NewManager(anonymous(t, lab, v))
	if err := c.Login(t.Context(), url.UserPassword("nobody@vsphere.local", "secret of nobody")); !fault.Is(err, new(types.NoPermission)) {
		t.Errorf("login: %v", err)
	}
	if n := len(v.Sessions()); n != 0 {
		t.Errorf("%d sessions", n)
	}
}

// anonymous is a client without a session.
func anonymous(t *testing.T, lab *sim.Lab, v *sim.VCenter) *vim25.Client {
	t.Helper()
	c, err := vim25.NewClient(t.Context(), verifying(t, lab, v))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// verifying is a client that has not called yet.
func verifying(t *testing.T, lab *sim.Lab, v *sim.VCenter) *soap.Client {
	t.Helper()
	c := soap.NewClient(v.URL(), false)
	if err := c.SetRootCAs(lab.CAFile); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// TestPermissionsChangeLive follows what a restricted user sees of all VMs, through a change of permissions.
func TestPermissionsChangeLive(t *testing.T) {
	lab := sim.Start(t, guarded)
	boss, cpi := lab.Client("vc"), lab.ClientAs("vc", "cpi@vsphere.local", "secret of cpi")
	views, err := view.NewManager(cpi.Client).CreateContainerView(t.Context(), cpi.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	type step struct {
		kind types.ObjectUpdateKind
		name string
	}
	steps, ended := make(chan step, 100), make(chan struct{})
	go func() {
		defer close(ended)
		filter := new(property.WaitFilter).Add(views.Reference(), "VirtualMachine", []string{"name"}, views.TraversalSpec())
		names := map[types.ManagedObjectReference]string{}
		_ = property.WaitForUpdates(ctx, property.DefaultCollector(cpi.Client), filter, func(updates []types.ObjectUpdate) bool {
			for _, u := range updates {
				for _, c := range u.ChangeSet {
					if name, ok := c.Val.(string); ok {
						names[u.Obj] = name
					}
				}
				steps <- step{u.Kind, names[u.Obj]}
			}
			return false
		})
	}()
	defer func() { cancel(); <-ended }()
	expect := func(kind types.ObjectUpdateKind, want ...string) {
		t.Helper()
		var got []string
		for len(got) < len(want) {
			select {
			case s := <-steps:
				if s.kind != kind {
					t.Fatalf("%s of %s, want %s of %v", s.kind, s.name, kind, want)
				}
				got = append(got, s.name)
			case <-ctx.Done():
				t.Fatalf("saw %s of %v, want %v", kind, got, want)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Fatalf("saw %s of %v, want %v", kind, got, want)
		}
	}
	expect(types.ObjectUpdateKindEnter, "west-1", "west-2", "west-3")

	must(t)(vm(t, boss, "/east/vm/east-1").Rename(t.Context(), "east-9")) // nothing to see
	auth := object.NewAuthorizationManager(boss.Client)
	roles, err := auth.RoleList(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = auth.SetEntityPermissions(t.Context(), ref(t, boss, "/east"), []types.Permission{
		{Principal: "cpi@vsphere.local", RoleId: roles.ByName("ReadOnly").RoleId, Propagate: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	expect(types.ObjectUpdateKindEnter, "east-2", "east-3", "east-9")
	if err := auth.RemoveEntityPermission(t.Context(), ref(t, boss, "/west"), "cpi@vsphere.local", false); err != nil {
		t.Fatal(err)
	}
	expect(types.ObjectUpdateKindLeave, "west-1", "west-2", "west-3")
}

func TestRestrictedUserTags(t *testing.T) {
	lab := sim.Start(t, guarded)
	boss, cpi := lab.Client("vc"), lab.ClientAs("vc", "cpi@vsphere.local", "secret of cpi")
	rc := rest.NewClient(cpi.Client)
	if err := rc.Login(t.Context(), url.UserPassword("cpi@vsphere.local", "secret of cpi")); err != nil {
		t.Fatal(err)
	}
	m := tags.NewManager(rc)
	zones, err := m.GetTagsForCategory(t.Context(), "k8s-zone")
	if err != nil || len(zones) != 2 {
		t.Fatalf("zones %v, %v", zones, err)
	}
	var west tags.Tag
	for _, z := range zones {
		on, err := m.ListAttachedObjects(t.Context(), z.ID)
		if err != nil {
			t.Fatal(err)
		}
		if want := z.Name == "z-west"; (len(on) > 0) != want {
			t.Errorf("%s is on %v", z.Name, on)
		} else if want {
			west = z
		}
	}
	east := ref(t, boss, "/east")
	if on, err := m.GetAttachedTags(t.Context(), east); err == nil {
		t.Errorf("tags of a datacenter that is not to be seen: %v", on)
	}
	for _, on := range []types.ManagedObjectReference{east, ref(t, boss, "/west")} {
		if err := m.AttachTag(t.Context(), west.ID, on); err == nil || !strings.Contains(err.Error(), "403") {
			t.Errorf("attached a tag to %s: %v", on, err)
		}
	}
	if err := m.DeleteTag(t.Context(), &west); err == nil {
		t.Error("deleted a tag")
	}
}

// TestRestrictedUserFiles: a session is not enough for the files of datastores.
func TestRestrictedUserFiles(t *testing.T) {
	lab := sim.Start(t, guarded)
	v, _ := lab.VCenter("vc")
	boss, cpi := lab.Client("vc"), lab.ClientAs("vc", "cpi@vsphere.local", "secret of cpi")
	for _, tc := range []struct {
		name, method, dc string
		c                *govmomi.Client
		want             int
	}{
		{"administrator reads", http.MethodGet, "east", boss, http.StatusOK},
		{"administrator writes", http.MethodPut, "east", boss, http.StatusOK},
		{"reads what is not to be seen", http.MethodGet, "east", cpi, http.StatusNotFound},
		{"writes to what is not to be seen", http.MethodPut, "east", cpi, http.StatusNotFound},
		{"reads without the privilege", http.MethodGet, "west", cpi, http.StatusForbidden},
		{"writes without the privilege", http.MethodPut, "west", cpi, http.StatusForbidden},
		{"nowhere", http.MethodGet, "north", boss, http.StatusNotFound},
	} {
		t.Run(tc.name, func(t *testing.T) {
			target := "https://" + v.Addr() + "/folder/" + tc.dc + "-1/vmware.log?dcPath=" + tc.dc + "&dsName=" + tc.dc + "-ds"
			if status, _ := transfer(t, tc.c, tc.method, target, "x"); status != tc.want {
				t.Errorf("status %d, want %d", status, tc.want)
			}
		})
	}
}
