package inventory_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	pbm "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
)

func TestDatastores(t *testing.T) {
	v := build(t, full)
	for _, tc := range []struct {
		name, kind, url string
		hosts           int
		info            types.BaseDatastoreInfo
	}{
		{"shared", "VMFS", `^ds:///vmfs/volumes/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/$`, 5, new(types.VmfsDatastoreInfo)},
		{"nfs3", "NFS", `^ds:///vmfs/volumes/[0-9a-f]{8}-[0-9a-f]{8}/$`, 4, new(types.NasDatastoreInfo)},
		{"nfs4", "NFS41", `^ds:///vmfs/volumes/[0-9a-f]{8}-[0-9a-f]{8}/$`, 1, new(types.NasDatastoreInfo)},
		{"vsan", "vsan", `^ds:///vmfs/volumes/vsan:[0-9a-f]{16}-[0-9a-f]{16}/$`, 3, new(types.VsanDatastoreInfo)},
		{"vvol", "VVOL", `^ds:///vmfs/volumes/vvol:[0-9a-f]{16}-[0-9a-f]{16}/$`, 1, new(types.VvolDatastoreInfo)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var ds mo.Datastore
			v.get(t, v.ref(t, dcPath+"/datastore/"+tc.name), &ds)
			if ds.Summary.Type != tc.kind || len(ds.Host) != tc.hosts || *ds.Summary.MultipleHostAccess != (tc.hosts > 1) {
				t.Errorf("type %s, %d hosts", ds.Summary.Type, len(ds.Host))
			}
			if got, want := typeOf(ds.Info), typeOf(tc.info); got != want {
				t.Errorf("info is a %s, want %s", got, want)
			}
			if url := inventory.URL(&ds); !regexp.MustCompile(tc.url).MatchString(url) {
				t.Errorf("URL is %s", url)
			}
			capacity, free := int64(1<<40), int64(1<<40)
			if tc.name == "shared" {
				capacity, free = 2<<40, 2<<40-512<<30
			}
			if ds.Summary.Capacity != capacity || ds.Summary.FreeSpace != free || ds.Info.GetDatastoreInfo().FreeSpace != free {
				t.Errorf("capacity %d, free %d", ds.Summary.Capacity, ds.Summary.FreeSpace)
			}
		})
	}
	// A VM's directory on vSAN is an object.
	var vm mo.VirtualMachine
	v.get(t, v.ref(t, dcPath+"/vm/shopper"), &vm, "config.files")
	if !regexp.MustCompile(`^\[vsan\] [0-9a-f-]{36}/shopper\.vmx$`).MatchString(vm.Config.Files.VmPathName) {
		t.Errorf("VM on vSAN is at %s", vm.Config.Files.VmPathName)
	}
}

// TestURLsAreStable builds one topology twice.
func TestURLsAreStable(t *testing.T) {
	var urls [2][]string
	for i := range urls {
		v := build(t, full)
		for _, name := range []string{"shared", "vsan"} {
			var ds mo.Datastore
			v.get(t, v.ref(t, dcPath+"/datastore/"+name), &ds)
			urls[i] = append(urls[i], inventory.URL(&ds))
		}
	}
	if diff := cmp.Diff(urls[0], urls[1]); diff != "" {
		t.Error(diff)
	}
}

func TestPolicies(t *testing.T) {
	v := build(t, full)
	id, err := v.policies.ProfileIDByName(t.Context(), "gold")
	if err != nil {
		t.Fatal(err)
	}
	again, err := build(t, full).policies.ProfileIDByName(t.Context(), "gold")
	if err != nil || id != again {
		t.Errorf("identifier is %s, then %s, %v", id, again, err)
	}
	all, err := v.policies.RetrieveContent(t.Context(), []pbm.PbmProfileId{{UniqueId: id}})
	if err != nil || len(all) != 1 {
		t.Fatalf("%d profiles, %v", len(all), err)
	}
	p := all[0].(*pbm.PbmCapabilityProfile)
	rules := p.Constraints.(*pbm.PbmCapabilitySubProfileConstraints).SubProfiles[0].Capability
	var got []string
	for _, r := range rules {
		i := r.Constraint[0].PropertyInstance[0]
		set := i.Value.(pbm.PbmCapabilityDiscreteSet)
		got = append(got, r.Id.Namespace+" "+r.Id.Id+" "+i.Id+" "+set.Values[0].(string))
	}
	want := []string{
		"http://www.vmware.com/storage/tag storage com.vmware.storage.tag.storage.property fast",
		"http://www.vmware.com/storage/tag storage com.vmware.storage.tag.storage.property safe",
	}
	if diff := cmp.Diff(want, got); diff != "" || p.Description != "fast" {
		t.Errorf("rules of %q (-want +got):\n%s", p.Description, diff)
	}
}

func TestSwitch(t *testing.T) {
	v := build(t, full)
	var dvs mo.DistributedVirtualSwitch
	v.get(t, v.ref(t, dcPath+"/network/dvs"), &dvs)
	if len(dvs.Summary.HostMember) != 4 || len(dvs.Portgroup) != 3 || dvs.Uuid != dvs.Summary.Uuid || dvs.Uuid != dvs.Config.GetDVSConfigInfo().Uuid {
		t.Errorf("switch is %+v", dvs.Summary)
	}
	if !slices.Contains(dvs.Summary.HostMember, v.ref(t, dcPath+"/host/alone/alone")) {
		t.Error("the standalone host is no member")
	}
	for name, vlan := range map[string]int32{"pg-7": 7, "pg-0": 0} {
		var g mo.DistributedVirtualPortgroup
		v.get(t, v.ref(t, dcPath+"/network/"+name), &g)
		setting := g.Config.DefaultPortConfig.(*types.VMwareDVSPortSetting)
		if got := setting.Vlan.(*types.VmwareDistributedVirtualSwitchVlanIdSpec).VlanId; got != vlan || len(g.Host) != 4 {
			t.Errorf("%s: VLAN %d, %d hosts", name, got, len(g.Host))
		}
	}
}

// TestShown gives clients the URL of a datastore, and vcsim the directory.
func TestShown(t *testing.T) {
	v := build(t, two)
	ds := v.ctx.Map.Get(v.at("/dc/datastore/dc-ds")[0]).(*simulator.Datastore)
	shown, ok := inventory.Shown(ds).(*simulator.Datastore)
	if !ok || shown == ds {
		t.Fatalf("shown is %T", shown)
	}
	url := inventory.URL(&ds.Datastore)
	if shown.Summary.Url != url || shown.Info.GetDatastoreInfo().Url != url || shown.Self != ds.Self || shown.Name != "dc-ds" {
		t.Errorf("shown is %+v", shown.Summary)
	}
	dir := filepath.Join(v.target.Dir, "dc", "dc-ds")
	if ds.Summary.Url != dir || ds.Info.GetDatastoreInfo().Url != dir {
		t.Errorf("the object itself is %s, %s", ds.Summary.Url, ds.Info.GetDatastoreInfo().Url)
	}
	if host := v.ctx.Map.Get(v.at("/dc/host/c/h-1")[0]); inventory.Shown(host) != host {
		t.Error("a host is shown as something else")
	}
}
