package sim_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/vapi/tags"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/store"
)

func TestLoadSaved(t *testing.T) {
	race.SkipSlow(t)
	lab := sim.Start(t, zones)
	var saved []*sim.Saved
	for _, name := range []string{"vc-us", "vc-eu"} {
		dir := filepath.Join(t.TempDir(), name)
		if _, err := store.Save(t.Context(), lab.Client(name).Client, lab.REST(name), dir, store.Options{Name: name}); err != nil {
			t.Fatal(err)
		}
		one, err := sim.OpenSaved(dir)
		if err != nil {
			t.Fatal(err)
		}
		saved = append(saved, one)
	}
	top, err := sim.TopologyOf(saved...)
	if err != nil {
		t.Fatal(err)
	}
	loaded := sim.StartWith(t, sim.Options{Topology: top, Saved: saved})
	us, _ := loaded.VCenter("vc-us")
	if us.VMs() != 5 {
		t.Errorf("%d VMs", us.VMs())
	}
	client := loaded.Client("vc-us")
	worker, err := find.NewFinder(client.Client).VirtualMachine(t.Context(), "/americas/dcwest/vm/k8s/worker-1")
	if err != nil {
		t.Fatal(err)
	}
	must(t)(worker.PowerOff(t.Context()))
	must(t)(worker.PowerOn(t.Context()))
	dc, err := find.NewFinder(client.Client).Datacenter(t.Context(), "/americas/dcwest")
	if err != nil {
		t.Fatal(err)
	}
	attached, err := tags.NewManager(loaded.REST("vc-us")).GetAttachedTags(t.Context(), dc)
	if err != nil || len(attached) != 1 || attached[0].Name != "us-west" {
		t.Errorf("tags %v, %v", attached, err)
	}
}

func TestLoadSavedRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := sim.OpenSaved(dir); err == nil {
		t.Error("loaded an empty folder")
	}
	if err := os.WriteFile(filepath.Join(dir, "0000-ServiceInstance.xml"), []byte("<"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sim.OpenSaved(dir); err == nil || !strings.Contains(err.Error(), "0000-ServiceInstance.xml") {
		t.Errorf("error %v, want it to name the file", err)
	}
}
