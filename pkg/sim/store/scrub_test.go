package store_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/store"
)

func TestScrub(t *testing.T) {
	race.SkipSlow(t)
	v := build(t, rich)
	web, err := v.finder.VirtualMachine(t.Context(), "/americas/west/dc1/vm/prod/web/web-1")
	if err != nil {
		t.Fatal(err)
	}
	task, err := object.NewVirtualMachine(v.Client, web.Reference()).Reconfigure(t.Context(), types.VirtualMachineConfigSpec{
		Annotation: "call Bob at 10.1.2.3",
		ExtraConfig: []types.BaseOptionValue{
			&types.OptionValue{Key: "guestinfo.userdata", Value: "c2VjcmV0"},
			&types.OptionValue{Key: "note", Value: "runs on ESX-1.corp.example:443, see wiki.corp.example, by CORP.EXAMPLE\\jdoe"},
		},
	})
	done(t, "reconfigure", task, err)

	dir, _ := v.save(t, store.Options{Name: "west", Scrub: true})
	all := files(t, dir)
	for _, word := range []string{
		"corp.example", "CORP.EXAMPLE", "esx-1", "esx-2", "lone.", "jdoe", "cpi@", `\cpi`, "Bob", "10.20.0.", "10.21.0.", "2001:db8",
		"userdata", "c2VjcmV0", "BEGIN CERTIFICATE",
		base64.StdEncoding.EncodeToString([]byte("local-hostname"))[:12],
	} {
		for name, text := range all {
			if i := strings.Index(text, word); i >= 0 {
				t.Errorf("%s has %q: …%s…", name, word, text[max(0, i-60):min(len(text), i+60)])
			}
		}
	}
	again, _ := v.save(t, store.Options{Name: "west", Scrub: true})
	if d := cmp.Diff(all, files(t, again)); d != "" {
		t.Errorf("another save of the same differs: %s", d)
	}

	w, _ := load(t, dir)
	vm := w.vm(t, guestName(t, w))
	if vm.Guest.HostName == "" || !strings.HasSuffix(vm.Guest.HostName, ".example.test") {
		t.Errorf("guest is %q", vm.Guest.HostName)
	}
	if n := len(vm.Guest.Net); n != 2 || len(vm.Guest.Net[0].IpAddress) != 2 {
		t.Errorf("guest has %+v", vm.Guest.Net)
	}
	if vm.Config.Annotation != "" {
		t.Errorf("annotation is %q", vm.Config.Annotation)
	}
	w.operate(t)
}

// guestName is the name of the VM that was web-1.
func guestName(t *testing.T, v *vcenter) string {
	t.Helper()
	for _, e := range v.base.Map.All("VirtualMachine") {
		if strings.HasPrefix(e.Entity().Name, "guest-") && v.vm(t, e.Entity().Name).Snapshot != nil {
			return e.Entity().Name
		}
	}
	t.Fatal("no guest")
	return ""
}

// TestScrubLeavesWords keeps apart a host called "green" and the color.
func TestScrubLeavesWords(t *testing.T) {
	race.SkipSlow(t)
	v := build(t, strings.ReplaceAll(small, "{name: web, cluster: c1}", "{name: green, hostname: green, cluster: c1}"))
	dir, _ := v.save(t, store.Options{Name: "west", Scrub: true})
	w, saved := load(t, dir)
	vm := w.vm(t, "green")
	if vm.OverallStatus != types.ManagedEntityStatusGreen || !strings.HasPrefix(vm.Guest.HostName, "guest-") {
		t.Errorf("VM is %s, guest %s", vm.OverallStatus, vm.Guest.HostName)
	}
	if saved.Name() != "west" {
		t.Errorf("vCenter is %s", saved.Name())
	}
}
