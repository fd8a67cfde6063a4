package inventory

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/tagged"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// tree is one datacenter: root > us (folder) > dc > hosts (folder) > cluster > host, resources (pool) > team (pool),
// vms (folder) > k8s (folder).
func tree(f feed) *VM {
	put := func(kind, value string, parent types.ManagedObjectReference) types.ManagedObjectReference {
		r := ref(kind, value)
		f.Update([]vcenter.Update{enter(r, map[string]any{"name": value, "parent": parent})})
		return r
	}
	root := ref("Folder", "root") // not in the view itself
	us := put("Folder", "us", root)
	dc := put("Datacenter", "dc", us)
	hosts := put("Folder", "hosts", dc)
	cluster := put("ClusterComputeResource", "cluster", hosts)
	host := put("HostSystem", "host", cluster)
	pool := put("ResourcePool", "team", put("ResourcePool", "resources", cluster))
	folder := put("Folder", "k8s", put("Folder", "vms", dc))
	vm := ref("VirtualMachine", "vm-1")
	f.Update([]vcenter.Update{enter(vm, map[string]any{
		"name": "vm-1", "summary.config.uuid": someUUID, "runtime.host": host, "resourcePool": pool, "parent": folder,
	})})
	f.Synced()
	return f.index.vms[vm]
}

func TestZone(t *testing.T) {
	on := func(pairs ...string) tagged.Objects {
		a := tagged.Objects{}
		for _, p := range pairs {
			object, tag, _ := strings.Cut(p, "=")
			kind, value, _ := strings.Cut(object, ":")
			a.Add(ref(kind, value), tag)
		}
		return a
	}
	for _, tc := range []struct {
		name         string
		region, zone tagged.Objects
		want         Zone
		missing      string // in the error
	}{
		{"both on the datacenter", on("Datacenter:dc=r"), on("Datacenter:dc=z"), Zone{"r", "z"}, ""},
		{"region above, zone below", on("Folder:us=r"), on("ClusterComputeResource:cluster=z"), Zone{"r", "z"}, ""},
		{"on the root folder", on("Folder:root=r"), on("Folder:root=z"), Zone{"r", "z"}, ""},
		{"nearer zone is not overwritten by a higher one", on("Datacenter:dc=r"), on("ClusterComputeResource:cluster=near", "Datacenter:dc=far"), Zone{"r", "near"}, ""},
		{"nearest of each, on their own", on("HostSystem:host=near", "Folder:us=far"), on("HostSystem:host=a", "ClusterComputeResource:cluster=b"), Zone{"near", "a"}, ""},
		{"several tags on one object", on("Datacenter:dc=r2", "Datacenter:dc=r1"), on("Datacenter:dc=z2", "Datacenter:dc=z1"), Zone{"r1", "z1"}, ""},
		{"resource pool", on("ResourcePool:team=r"), on("ResourcePool:resources=z"), Zone{"r", "z"}, ""},
		{"vm folder", on("Folder:vms=r"), on("Folder:k8s=z"), Zone{"r", "z"}, ""},
		{"vm folder and datacenter", on("Datacenter:dc=r"), on("Folder:k8s=z"), Zone{"r", "z"}, ""},
		{"the vm itself", on("VirtualMachine:vm-1=r"), on("VirtualMachine:vm-1=z"), Zone{"r", "z"}, ""},
		{"walks are not mixed", on("ResourcePool:team=r"), on("Folder:k8s=z"), Zone{}, `no single path to the root has tags of both categories`},
		{"no zone", on("Datacenter:dc=r"), nil, Zone{}, `no tag of category "k8s-zone" on any of HostSystem "host", ClusterComputeResource "cluster", Folder "hosts", Datacenter "dc", Folder "us", Folder "root"`},
		{"no region", nil, on("Datacenter:dc=z"), Zone{}, `category "k8s-region"`},
		{"nothing", nil, nil, Zone{}, `"k8s-region" or "k8s-zone"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inv, f := offline(t, Categories{Region: "k8s-region", Zone: "k8s-zone"})
			vm := tree(f)
			tags := inv.members[0].tags
			tags.state.Store(&tagState{region: tc.region, zone: tc.zone, readAt: time.Now()})
			got, err := inv.Zone(vm)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			var missing *MissingTagError
			if (tc.missing == "") != (err == nil) || err != nil && (!errors.As(err, &missing) || !strings.Contains(err.Error(), tc.missing)) {
				t.Errorf("error %v, want %q in it", err, tc.missing)
			}
			if asked := len(tags.schedule.misses) == 1; asked != (tc.missing != "") {
				t.Errorf("early reading asked for: %v", asked)
			}
		})
	}
}

// Tags that could not be read are reported as such, and the previous state stays in use.
func TestZoneUnread(t *testing.T) {
	inv, f := offline(t, Categories{Region: "k8s-region", Zone: "k8s-zone"})
	vm := tree(f)
	if _, err := inv.Zone(vm); err == nil || !strings.Contains(err.Error(), "not read yet") {
		t.Errorf("before the first reading: %v", err)
	}
	tags := inv.members[0].tags
	dc := ref("Datacenter", "dc")
	tags.state.Store(&tagState{region: tagged.Objects{dc: {"r"}}, zone: tagged.Objects{dc: {"z"}}, readAt: time.Now(), err: errors.New("503")})
	if z, err := inv.Zone(vm); err != nil || z != (Zone{"r", "z"}) {
		t.Errorf("with an older reading: %v, %v", z, err)
	}
}

func TestZoneOff(t *testing.T) {
	for _, c := range []Categories{{}, {Region: "k8s-region"}, {Zone: "k8s-zone"}} {
		inv, f := offline(t, c)
		if z, err := inv.Zone(tree(f)); err != nil || z != (Zone{}) {
			t.Errorf("%+v: %v, %v", c, z, err)
		}
	}
}

func TestDatacenterNames(t *testing.T) {
	inv, f := offline(t, Categories{})
	vm := tree(f)
	if got := inv.Datacenter(vm); got != "/us/dc" {
		t.Errorf("path %q", got)
	}
	dc := ref("Datacenter", "dc")
	for want, ok := range map[string]bool{"dc": true, "/us/dc": true, "us/dc": true, "Datacenter:dc": true, "DC": false, "/dc": false, "us": false, "": false} {
		if f.index.place(dc).Is(want) != ok {
			t.Errorf("%q means the datacenter: %v, want %v", want, !ok, ok)
		}
	}
	m := inv.members[0]
	for _, tc := range []struct {
		datacenters []string
		vms, scope  int
	}{{nil, 1, 1}, {[]string{"dc"}, 1, 1}, {[]string{"other"}, 0, 0}, {[]string{"dc", "/us/dc"}, 1, 1}} {
		m.datacenters = tc.datacenters
		m.inScope.Store(nil)
		if n := len(m.filter([]*VM{vm})); n != tc.vms {
			t.Errorf("%v: %d VMs", tc.datacenters, n)
		}
		scope, err := m.scope()
		if len(scope) != tc.scope || (err == nil) != (tc.scope > 0) {
			t.Errorf("%v: scope %v, %v", tc.datacenters, scope, err)
		}
	}
}
