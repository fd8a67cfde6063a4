package inventory

import (
	"errors"
	"maps"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// While a VM could be any, no absence is certain; a VM with a known UUID does not matter.
func TestUnidentified(t *testing.T) {
	vm := ref("VirtualMachine", "vm-1")
	known := func(changes map[string]any) vcenter.Update {
		all := map[string]any{"name": "one", "summary.config.uuid": someUUID, "runtime.connectionState": types.VirtualMachineConnectionState("connected")}
		maps.Copy(all, changes)
		return enter(vm, all)
	}
	hidden := enter(vm, map[string]any{"name": "one"})
	hidden.Missing = []string{"summary.config.uuid"}
	for _, tc := range []struct {
		name    string
		updates []vcenter.Update
		doubt   bool
	}{
		{"known", []vcenter.Update{known(nil)}, false},
		{"disconnected host", []vcenter.Update{known(map[string]any{"runtime.connectionState": types.VirtualMachineConnectionState("disconnected")})}, false},
		{"inaccessible", []vcenter.Update{known(map[string]any{"runtime.connectionState": types.VirtualMachineConnectionState("inaccessible")})}, false},
		{"inaccessible and no uuid", []vcenter.Update{enter(vm, map[string]any{"runtime.connectionState": types.VirtualMachineConnectionState("inaccessible")})}, true},
		{"inaccessible after it was known, in a new watch", []vcenter.Update{known(nil), enter(vm, map[string]any{"runtime.connectionState": types.VirtualMachineConnectionState("inaccessible")})}, false},
		{"orphaned", []vcenter.Update{known(map[string]any{"runtime.connectionState": types.VirtualMachineConnectionState("orphaned")})}, false},
		{"orphaned and no uuid", []vcenter.Update{enter(vm, map[string]any{"runtime.connectionState": types.VirtualMachineConnectionState("orphaned")})}, true},
		{"orphaned after it was known, in a new watch", []vcenter.Update{known(nil), enter(vm, map[string]any{"runtime.connectionState": types.VirtualMachineConnectionState("orphaned")})}, false},
		{"invalid", []vcenter.Update{known(map[string]any{"runtime.connectionState": types.VirtualMachineConnectionState("invalid")})}, false},
		{"invalid and no uuid", []vcenter.Update{enter(vm, map[string]any{"runtime.connectionState": types.VirtualMachineConnectionState("invalid")})}, true},
		{"invalid after it was known, in a new watch", []vcenter.Update{known(nil), enter(vm, map[string]any{"runtime.connectionState": types.VirtualMachineConnectionState("invalid")})}, false},
		{"accessible again", []vcenter.Update{
			enter(vm, map[string]any{"runtime.connectionState": types.VirtualMachineConnectionState("inaccessible")}),
			update(vcenter.Modify, vm, map[string]any{"summary.config.uuid": someUUID}),
		}, false},
		{"no uuid", []vcenter.Update{enter(vm, map[string]any{"name": "one"})}, true},
		{"uuid of zeros", []vcenter.Update{known(map[string]any{"summary.config.uuid": "00000000-0000-0000-0000-000000000000"})}, true},
		{"uuid blank after it was known", []vcenter.Update{known(nil), update(vcenter.Modify, vm, map[string]any{"summary.config.uuid": ""})}, false},
		{"uuid hidden", []vcenter.Update{hidden}, true},
		{"uuid hidden after it was known", []vcenter.Update{known(nil), hidden}, false},
		{"uuid told again", []vcenter.Update{hidden, known(nil)}, false},
		{"gone", []vcenter.Update{hidden, {Kind: vcenter.Leave, Ref: vm}}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, f := offline(t, Categories{})
			f.Update(tc.updates)
			if err := f.unidentified(); errors.Is(err, errUnidentified) != tc.doubt {
				t.Errorf("got %v, want doubt %v", err, tc.doubt)
			}
		})
	}
}

// A VM without a known place may be inside the configured datacenters.
func TestOutside(t *testing.T) {
	inv, f := offline(t, Categories{})
	m := inv.members[0]
	m.datacenters = []string{"one"}
	one, other, folder := ref("Datacenter", "datacenter-1"), ref("Datacenter", "datacenter-2"), ref("Folder", "group-v1")
	f.Update([]vcenter.Update{
		enter(one, map[string]any{"name": "one"}), enter(other, map[string]any{"name": "other"}),
		enter(ref("VirtualMachine", "vm-1"), map[string]any{"name": "vm", "summary.config.uuid": someUUID, "parent": folder}),
	})
	f.Synced()
	u := uuidOf(t, someUUID)
	for _, tc := range []struct {
		name             string
		update           vcenter.Update
		outside, onlyFar bool
	}{
		{"nowhere", update(vcenter.Modify, one, nil), true, false},
		{"inside", enter(folder, map[string]any{"parent": one}), false, false},
		{"elsewhere", update(vcenter.Modify, folder, map[string]any{"parent": other}), true, true},
		{"the folder hidden", vcenter.Update{Kind: vcenter.Leave, Ref: folder}, true, false},
	} {
		f.Update([]vcenter.Update{tc.update})
		if err := m.checkOutOfScope(u.Swapped()); (err != nil) != tc.outside || OnlyUnseen(err) != tc.onlyFar {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}
