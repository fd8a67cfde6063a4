package inventory_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vmware/govmomi/list"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
)

// TestPaths finds every object by its inventory path through the API, and compares it with the result of Make.
func TestPaths(t *testing.T) {
	race.SkipSlow(t)
	v := build(t, full)
	seen := make(map[string]int)
	for _, o := range v.built.Objects {
		seen[o.Path]++
		all, err := v.finder.ManagedObjectList(t.Context(), o.Path)
		if err != nil {
			t.Errorf("%s: %v", o.Path, err)
			continue
		}
		found := slices.ContainsFunc(all, func(e list.Element) bool { return e.Object.Reference() == o.Ref })
		if !found {
			t.Errorf("%s: %s not among %d objects", o.Path, o.Ref, len(all))
		}
	}
	var paths []string
	for path := range seen {
		paths = append(paths, path)
	}
	want := []string{
		"/", "/americas", "/americas/west", "/americas/west/dc",
		"host/c1", "host/c1/h1-1", "host/c1/h1-2", "host/c1/h1-3", "host/c2", "host/c2/h2", "host/alone", "host/alone/alone",
		"host/c1/Resources/prod", "host/c1/Resources/prod/web", "host/c1/Resources/prod/web/shop", "host/c1/Resources/dev",
		"host/c1/Resources/top", "host/alone/Resources/lab",
		"network/VM Network", "network/storage-net", "network/dvs", "network/pg-7", "network/pg-0",
		"datastore/shared", "datastore/nfs3", "datastore/nfs4", "datastore/vsan", "datastore/vvol",
		"vm/prod", "vm/prod/web", "vm/empty",
		"vm/prod/web/web", "vm/shopper", "vm/lab", "vm/golden", "vm/down",
	}
	for i, p := range want {
		if !strings.HasPrefix(p, "/") {
			want[i] = "/americas/west/dc/" + p
		}
	}
	sorted := cmpopts.SortSlices(strings.Compare)
	if diff := cmp.Diff(want, paths, sorted); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	if got := seen["/americas/west/dc/vm/prod/web/web"]; got != 2 {
		t.Errorf("%d VMs of one name in one folder, want 2", got)
	}
}

func TestHosts(t *testing.T) {
	v := build(t, full)
	about := v.ServiceContent.About
	if about.Version != "7.0.3" || about.ApiVersion != "7.0.3.0" || about.Build != "18700403" || about.LicenseProductVersion != "7.0" ||
		about.FullName != "VMware vCenter Server 7.0.3 build-18700403 (simulated, test)" {
		t.Errorf("about is %+v", about)
	}
	var h mo.HostSystem
	v.get(t, v.ref(t, "/americas/west/dc/host/c1/h1-2"), &h, "summary.config.product", "config.product", "hardware.cpuInfo", "hardware.memorySize", "datastore", "network", "vm")
	for _, p := range []types.AboutInfo{*h.Summary.Config.Product, h.Config.Product} {
		if p.Version != "7.0.3" || p.Build != "18644231" || p.FullName != "VMware ESXi 7.0.3 build-18644231" {
			t.Errorf("product is %+v", p)
		}
	}
	if h.Hardware.CpuInfo.NumCpuCores != 8 || h.Hardware.MemorySize != 32<<30 {
		t.Errorf("hardware is %+v, %d", h.Hardware.CpuInfo, h.Hardware.MemorySize)
	}
	if len(h.Datastore) != 3 || len(h.Vm) != 1 {
		t.Errorf("%d datastores, %d VMs, want 3, 1", len(h.Datastore), len(h.Vm))
	}
	var c mo.ClusterComputeResource
	v.get(t, v.ref(t, "/americas/west/dc/host/c1"), &c, "summary", "network", "host", "resourcePool", "configurationEx")
	ha := c.ConfigurationEx.(*types.ClusterConfigInfoEx).DasConfig
	if !*ha.Enabled || !*ha.AdmissionControlEnabled || ha.FailoverLevel != 1 {
		t.Errorf("HA is %+v", ha)
	}
	s := c.Summary.GetComputeResourceSummary()
	if s.NumCpuCores != 24 || s.TotalMemory != 96<<30 || s.TotalCpu != 24*2600 || len(c.Host) != 3 {
		t.Errorf("summary is %+v", s)
	}
	if diff := cmp.Diff(c.Network, h.Network); diff != "" || len(c.Network) != 5 {
		t.Errorf("networks of cluster and host (-cluster +host):\n%s", diff)
	}
	var alone mo.HostSystem
	v.get(t, v.ref(t, "/americas/west/dc/host/c2/h2"), &alone, "network")
	if len(alone.Network) != 2 {
		t.Errorf("host outside the switch has %d networks, want 2", len(alone.Network))
	}
}

func TestPools(t *testing.T) {
	v := build(t, full)
	var web mo.ResourcePool
	v.get(t, v.ref(t, "/americas/west/dc/host/c1/Resources/prod/web"), &web, "name", "parent", "owner", "vm", "resourcePool", "summary")
	if web.Name != "web" || web.Summary.GetResourcePoolSummary().Name != "web" || len(web.Vm) != 1 || len(web.ResourcePool) != 1 {
		t.Errorf("pool is %+v", web)
	}
	if web.Owner != v.ref(t, "/americas/west/dc/host/c1") || *web.Parent != v.ref(t, "/americas/west/dc/host/c1/Resources/prod") {
		t.Errorf("owner %s, parent %s", web.Owner, web.Parent)
	}
	shop := v.ref(t, "/americas/west/dc/host/c1/Resources/prod/web/shop")
	var app mo.VirtualApp
	v.get(t, shop, &app, "name", "vm", "parentFolder", "summary", "vAppConfig")
	if shop.Type != "VirtualApp" || app.Name != "shop" || len(app.Vm) != 1 || app.ParentFolder == nil {
		t.Errorf("vApp is %+v", app)
	}
	var vm mo.VirtualMachine
	v.get(t, app.Vm[0], &vm, "name", "resourcePool", "parentVApp", "parent")
	if vm.Name != "shopper" || *vm.ResourcePool != shop || *vm.ParentVApp != shop || vm.Parent == nil {
		t.Errorf("VM of the vApp is %+v", vm)
	}
	var root mo.ResourcePool
	v.get(t, v.ref(t, "/americas/west/dc/host/c1/Resources"), &root, "name", "summary", "vm")
	if root.Summary.GetResourcePoolSummary().Name != "Resources" || len(root.Vm) != 1 {
		t.Errorf("root pool is %+v", root)
	}
}

func TestMarks(t *testing.T) {
	v := build(t, full)
	dc := "/americas/west/dc"
	want := map[string][]types.ManagedObjectReference{
		"owner/root":       v.at("/"),
		"owner/network":    slices.Concat(v.at("/americas/west"), v.at(dc+"/network/pg-0"), v.at(dc+"/network/dvs")),
		"owner/web":        slices.Concat(v.at(dc+"/vm/prod/web"), v.at(dc + "/vm/prod/web/web")[:1]),
		"owner/shop":       v.at(dc + "/host/c1/Resources/prod/web/shop"),
		"storage/fast":     v.at(dc + "/datastore/shared"),
		"k8s-region/west":  v.at("/americas/west"),
		"k8s-zone/dc-zone": v.at(dc),
		"k8s-zone/z1":      v.at(dc + "/host/c1"),
		"k8s-zone/z3":      v.at(dc + "/host/alone/alone"),
	}
	if diff := cmp.Diff(want, v.tagger.on); diff != "" {
		t.Errorf("attached (-want +got):\n%s", diff)
	}
	if !slices.ContainsFunc(slices.Collect(maps.Values(v.tagger.tags)), func(s string) bool { return s == "storage/safe" }) {
		t.Error("a tag that only a policy names does not exist")
	}
	var got []category
	for _, c := range v.tagger.categories {
		c.id = ""
		got = append(got, c)
	}
	if len(got) != 4 || !cmp.Equal(got[2], category{"", "storage", "kinds of storage", "MULTIPLE", []string{"Datastore"}}, cmp.AllowUnexported(category{})) ||
		got[3].cardinality != "SINGLE" || got[0].name != "k8s-region" {
		t.Errorf("categories are %+v", got)
	}
	if len(v.built.Grants) != 2 || v.built.Grants[0].On != v.at("/")[0] || v.built.Grants[0].Permissions[0].Role != "ReadOnly" ||
		v.built.Grants[1].On != v.at(dc)[0] {
		t.Errorf("grants are %+v", v.built.Grants)
	}
}
