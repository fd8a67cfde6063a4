package provider

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
)

// guestNames are upstream's short names with the identifiers of each, "NAME: ID ID…"; a line that begins with a space continues the
// previous one.
//
//go:embed testdata/guestos.txt
var guestNames string

func TestGuestOS(t *testing.T) {
	want := map[string]string{}
	for line := range strings.Lines(strings.ReplaceAll(guestNames, "\n ", "")) {
		name, ids, _ := strings.Cut(line, ":")
		for id := range strings.FieldsSeq(ids) {
			want[id] = name
		}
	}
	// Every identifier of the API has a name in the file.
	for _, id := range types.VirtualMachineGuestOsIdentifier("").Strings() {
		if want[id] == "" {
			t.Errorf("%s is new", id)
		}
	}
	for id, name := range want {
		if got := guestOS(id); got != name {
			t.Errorf("%s: %s, want %s", id, got, name)
		}
	}
	for _, id := range []string{"", "Guest", "64", "Guest64", "_64Guest", "ubuntu", "ubuntu64", "UBUNTU64GUEST", "rhel11_64Guest", "windows9Server64Guest2"} {
		if got := guestOS(id); got != "unknown" {
			t.Errorf("%q: %s", id, got)
		}
	}
}

func TestInstanceType(t *testing.T) {
	for _, tc := range []struct {
		vm   inventory.VM
		want string
	}{
		{inventory.VM{NumCPU: 4, MemoryMB: 8192, GuestID: "ubuntu64Guest"}, "vsphere-vm.cpu-4.mem-8gb.os-ubuntu"},
		{inventory.VM{NumCPU: 1, MemoryMB: 1535, GuestID: "rhel8_64Guest"}, "vsphere-vm.cpu-1.mem-1gb.os-rhel8"},
		{inventory.VM{NumCPU: 2, MemoryMB: 512, GuestID: "debian10_64Guest"}, "vsphere-vm.cpu-2.mem-0gb.os-debian10"},
		{inventory.VM{NumCPU: 128, MemoryMB: 4 << 20, GuestID: "other5xLinux64Guest"}, "vsphere-vm.cpu-128.mem-4096gb.os-unknown"},
		{inventory.VM{}, "vsphere-vm.cpu-0.mem-0gb.os-unknown"},
	} {
		if got := instanceType(&tc.vm); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.vm.GuestID, got, tc.want)
		}
	}
}
