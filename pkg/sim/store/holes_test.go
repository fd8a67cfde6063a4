package store_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
)

// without removes a property from a saved object.
func without(t *testing.T, file, property string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), "<propSet>\n    <name>"+property+"</name>")
	_, after, closed := strings.Cut(rest, "</propSet>")
	if !ok || !closed {
		t.Fatalf("%s has no %s", file, property)
	}
	write(t, file, before+after)
}

// TestFolderWithHoles loads what govc makes of a vCenter in which things happen: objects went while it was saved, a host
// was disconnected, a VM inaccessible.
func TestFolderWithHoles(t *testing.T) {
	race.SkipSlow(t)
	v := build(t, rich)
	for _, d := range v.vm(t, "tpl").Config.Hardware.Device {
		if disk, ok := d.(*types.VirtualDisk); ok {
			disk.VDiskId = &types.ID{Id: "a-volume"}
		}
	}
	dir := stockSave(t, v)
	off, lone := v.vm(t, "off-1"), v.vm(t, "lonely")
	for _, file := range []string{"-" + off.Self.Encode() + ".", "-EnvironmentBrowser-", "-EventManager-", "-HostDatastoreSystem-", "-HostNetworkSystem-"} {
		if err := os.Remove(fileIn(t, dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	host := fileIn(t, dir, "-"+lone.Runtime.Host.Encode()+".")
	for _, property := range []string{"config", "hardware", "capability"} {
		without(t, host, property)
	}
	without(t, fileIn(t, dir, "-"+lone.Self.Encode()+"."), "config")
	without(t, fileIn(t, dir, "-"+v.vm(t, "tpl").Self.Encode()+"."), "guest")

	w, saved := load(t, dir)
	notes := saved.Notes()
	for _, want := range []string{
		"refers to VirtualMachine " + off.Self.Value + ", which is not in the folder",
		"host lone.corp.example was disconnected",
		"VM lonely was inaccessible",
		"VM tpl has disks of volumes (1)",
	} {
		if !slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, want) }) {
			t.Errorf("notes are %q, want %q", notes, want)
		}
	}
	for _, e := range w.base.Map.All("HostSystem") {
		h := e.(*simulator.HostSystem)
		if slices.Contains(h.Vm, off.Self) {
			t.Errorf("%s still has the VM", h.Name)
		}
		if h.Config == nil || h.Hardware == nil {
			t.Errorf("%s has no configuration", h.Name)
		}
	}
	if vm := w.vm(t, "lonely"); vm.Config.Uuid == "" || vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
		t.Errorf("VM has UUID %q, is %s", vm.Config.Uuid, vm.Runtime.PowerState)
	}
	web, err := w.finder.VirtualMachine(t.Context(), "/americas/west/dc1/vm/lonely")
	if err != nil {
		t.Fatal(err)
	}
	task, err := web.PowerOff(t.Context())
	done(t, "power off", task, err)
	w.operate(t)
}
