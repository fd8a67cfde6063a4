package store_test

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/vmware/govmomi/cli"
	_ "github.com/vmware/govmomi/cli/object" // object.save
	"github.com/vmware/govmomi/simulator"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/store"
)

// stockSave saves a vCenter with govc's own object.save.
func stockSave(t *testing.T, v *vcenter) string {
	t.Helper()
	u := *v.url
	u.User = v.login
	return govcSave(t, &u)
}

// govcSave runs govc's object.save. It leaves no session file in the user's home directory.
func govcSave(t *testing.T, u *url.URL) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "stock")
	t.Setenv("GOVC_PERSIST_SESSION", "false")
	t.Setenv("GOVMOMI_HOME", t.TempDir())
	if status := cli.Run([]string{"object.save", "-u", u.String(), "-k", "-d", dir}); status != 0 {
		t.Fatalf("govc ended with %d", status)
	}
	return dir
}

func TestLoadsWhatGovcSaved(t *testing.T) {
	race.SkipSlow(t)
	v := build(t, rich)
	w, saved := load(t, stockSave(t, v))
	if notes := saved.Notes(); len(notes) > 0 {
		t.Errorf("left out: %q", notes)
	}
	if saved.Name() != "stock" || saved.InstanceUUID() != v.ServiceContent.About.InstanceUuid || saved.Version() != "8.0.3" {
		t.Errorf("is %s, %s, %s", saved.Name(), saved.InstanceUUID(), saved.Version())
	}
	w.operate(t)
}

// TestLoadsWhatVcsimSaved loads a folder of stock vcsim, whose VMs have no guests and whose datastores have no other URL
// than a directory.
func TestLoadsWhatVcsimSaved(t *testing.T) {
	race.SkipSlow(t)
	m := simulator.VPX()
	m.Datacenter, m.Pool, m.App, m.Pod, m.PortgroupNSX, m.OpaqueNetwork, m.Folder = 2, 1, 1, 1, 1, 1, 1
	if err := m.Create(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Remove)
	server := m.Service.NewServer()
	t.Cleanup(server.Close)
	w, _ := load(t, govcSave(t, server.URL))
	for _, kind := range []string{"Datacenter", "HostSystem", "VirtualMachine", "Datastore", "ResourcePool", "VirtualApp", "DistributedVirtualPortgroup", "StoragePod", "Folder"} {
		if n, want := len(w.base.Map.All(kind)), len(m.Map().All(kind)); n != want {
			t.Errorf("%d %ss, want %d", n, kind, want)
		}
	}
	w.operate(t)
}

// TestStockLoadsWhatWeSave gives a folder of ours to vcsim itself.
func TestStockLoadsWhatWeSave(t *testing.T) {
	race.SkipSlow(t)
	v := build(t, rich)
	dir, _ := v.save(t, store.Options{})
	m := simulator.VPX()
	if err := m.Load(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Remove)
	if n := len(m.Map().All("VirtualMachine")); n != 5 {
		t.Errorf("%d VMs", n)
	}
	for _, e := range m.Map().All("Datastore") {
		ds := e.(*simulator.Datastore)
		if _, err := os.Stat(ds.Summary.Url); err != nil {
			t.Errorf("%s (%s): %v", ds.Name, inventory.URL(&ds.Datastore), err)
		}
	}
}
