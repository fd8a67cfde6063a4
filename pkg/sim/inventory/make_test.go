package inventory_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// TestSameReferences builds one topology twice: the objects have the same references, and the same identities.
func TestSameReferences(t *testing.T) {
	a, b := build(t, full), build(t, full)
	if diff := cmp.Diff(a.built.Objects, b.built.Objects); diff != "" {
		t.Errorf("objects (-first +second):\n%s", diff)
	}
	var disks [2]string
	for i, v := range []*vcenter{a, b} {
		var vm mo.VirtualMachine
		v.get(t, v.ref(t, dcPath+"/vm/down"), &vm, "config.hardware.device")
		for _, d := range vm.Config.Hardware.Device {
			if disk, ok := d.(*types.VirtualDisk); ok {
				disks[i] = disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo).Uuid
			}
		}
	}
	if disks[0] != disks[1] || !strings.HasPrefix(disks[0], "6000c29") {
		t.Errorf("disk UUIDs are %q", disks)
	}
}

// TestNothingIsLeft: clients see no tasks of the making.
func TestNothingIsLeft(t *testing.T) {
	v := build(t, full)
	if tasks := v.ctx.Map.AllReference("Task"); len(tasks) != 0 {
		t.Errorf("%d tasks", len(tasks))
	}
	for _, e := range v.ctx.Map.All("") {
		if len(e.Entity().RecentTask) > 0 {
			t.Errorf("%s has recent tasks", e.Reference())
		}
	}
}

// TestTagsThroughREST makes tags through the vAPI endpoint, where there is no Tagger.
func TestTagsThroughREST(t *testing.T) {
	spec := parse(t, full)
	s, target, _ := empty(t.TempDir(), "")
	target.Tagger = nil
	s.ServeMux.Handle("/rest/", target.Tags)
	built, err := inventory.Make(t.Context(), target, &spec.VCenters[0], spec)
	if err != nil {
		t.Fatal(err)
	}
	v := serve(t, s, target, spec, built)
	client := rest.NewClient(v.Client)
	if err := client.Login(t.Context(), target.Login); err != nil {
		t.Fatal(err)
	}
	m := tags.NewManager(client)
	category, err := m.GetCategory(t.Context(), "storage")
	if err != nil || category.Cardinality != "MULTIPLE" || !cmp.Equal(category.AssociableTypes, []string{"Datastore"}) {
		t.Errorf("category is %+v, %v", category, err)
	}
	attached, err := m.GetAttachedTags(t.Context(), v.at(dcPath + "/datastore/shared")[0])
	if err != nil || len(attached) != 1 || attached[0].Name != "fast" || attached[0].CategoryID != category.ID {
		t.Errorf("tags are %+v, %v", attached, err)
	}
}

func TestErrors(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*topology.VCenter)
		want   string
	}{
		{"instance UUID", func(v *topology.VCenter) { v.InstanceUUID = "x" }, `instance UUID "x"`},
		{"host", func(v *topology.VCenter) { v.Datacenters[0].VMs[0].Host = "x" }, `datacenter "dc": VM "one": host "x" not found`},
		{"pool", func(v *topology.VCenter) { v.Datacenters[0].VMs[0].Pool = "x" }, `pool "x": no such resource pool or vApp`},
		{"datastore", func(v *topology.VCenter) { v.Datacenters[0].VMs[0].Datastore = "x" }, `datastore "x": not mounted on host "h-1"`},
		{"network", func(v *topology.VCenter) { v.Datacenters[0].VMs[0].NICs[0].Network = "x" }, `network "x": no such network`},
		{"UUID", func(v *topology.VCenter) { v.Datacenters[0].VMs[0].UUID = "x" }, `UUID "x"`},
		{"address", func(v *topology.VCenter) { v.Datacenters[0].VMs[0].NICs[0].Addresses = []string{"x"} }, `address "x"`},
		{"member", func(v *topology.VCenter) {
			v.Datacenters[0].Switches = []topology.Switch{{Name: "s", Hosts: []string{"x"}}}
		}, `switch "s": host "x" not found`},
		{"folder", func(v *topology.VCenter) {
			v.Datacenters[0].Folders = []topology.Folder{{Path: "a"}}
			v.Folders = []topology.Folder{{Path: "a/b"}}
			v.Datacenters[0].Folder = "a/b/c"
			v.Datacenters[0].VMs[0].Folder = "a/b"
			v.Datacenters[0].VMs[1].Folder = "a/b"
			v.Datacenters[0].VMs[1].Host = "y"
		}, `VM "two": host "y"`},
		{"policies", func(v *topology.VCenter) { v.Policies = []topology.Policy{{Name: "p"}} }, `policy "p": vCenter has no storage policy service`},
		{"category", func(v *topology.VCenter) { v.Tags = []topology.Tag{{Category: "x", Name: "y"}} }, `tag "y": no category "x"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spec := parse(t, two)
			tc.change(&spec.VCenters[0])
			_, target, _ := empty(t.TempDir(), "")
			target.Policies = nil
			built, err := inventory.Make(t.Context(), target, &spec.VCenters[0], spec)
			if built != nil || err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error is %v, want %s", err, tc.want)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	spec := parse(t, two)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, target, _ := empty(t.TempDir(), "")
	if _, err := inventory.Make(ctx, target, &spec.VCenters[0], spec); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

// TestDirectoryInTheWay: what cannot be written is an error, not a VM without files.
func TestDirectoryInTheWay(t *testing.T) {
	spec := parse(t, two)
	dir := t.TempDir()
	_, target, _ := empty(dir, "")
	if err := writeFile(dir+"/dc/dc-ds/one", "a file, not a directory"); err != nil {
		t.Fatal(err)
	}
	if _, err := inventory.Make(t.Context(), target, &spec.VCenters[0], spec); err == nil || !strings.Contains(err.Error(), "dc-ds/one") {
		t.Errorf("error is %v", err)
	}
}

// TestSideBySide builds vCenters at once, as a simulation does: nothing is shared. It is for the race detector.
func TestSideBySide(t *testing.T) {
	spec := parse(t, full)
	var targets []inventory.Target
	for range 3 { // one after the other: vcsim fills in defaults that all vCenters of a process share
		_, target, _ := empty(t.TempDir(), "")
		targets = append(targets, target)
	}
	var wg sync.WaitGroup
	for _, target := range targets {
		wg.Go(func() {
			if _, err := inventory.Make(t.Context(), target, &spec.VCenters[0], spec); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// TestOddNames has names with characters that mean something in paths of vSphere or of files.
func TestOddNames(t *testing.T) {
	spec := parse(t, two)
	dc := &spec.VCenters[0].Datacenters[0]
	dc.Folders = []topology.Folder{{Path: `50%/a\b`}}
	for i, name := range []string{"a/b 100%", ".."} {
		dc.VMs[i].Name, dc.VMs[i].Folder = name, `50%/a\b`
	}
	s, target, _ := empty(t.TempDir(), "")
	built, err := inventory.Make(t.Context(), target, &spec.VCenters[0], spec)
	if err != nil {
		t.Fatal(err)
	}
	v := serve(t, s, target, spec, built)
	var vm mo.VirtualMachine
	v.get(t, v.at("/dc/vm/50%25/a%5cb/a%2fb 100%25")[0], &vm, "name", "config.files")
	if vm.Name != "a%2fb 100%25" || vm.Config.Files.VmPathName != "[dc-ds] a%2fb 100%/a%2fb 100%.vmx" {
		t.Errorf("VM is %s at %s", vm.Name, vm.Config.Files.VmPathName)
	}
	v.get(t, v.at("/dc/vm/50%25/a%5cb/..")[0], &vm, "name", "config.files")
	if vm.Config.Files.VmPathName != "[dc-ds] %2e%2e/%2e%2e.vmx" {
		t.Errorf("VM is at %s", vm.Config.Files.VmPathName)
	}
}
