package inventory

import (
	"context"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

func ref(kind, value string) types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: kind, Value: value}
}

// offline returns an inventory of one vCenter that tests update themselves.
func offline(t testing.TB, categories Categories) (*Inventory, feed) {
	t.Helper()
	client, err := vcenter.New(vcenter.Config{
		Name: "vc", Server: "vc.example", UserAgent: "test",
		Credentials: func(context.Context) (vcenter.Credentials, error) { return vcenter.Credentials{}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	inv, err := New(Config{VCenters: []VCenterConfig{{Client: client}}, Categories: categories})
	if err != nil {
		t.Fatal(err)
	}
	return inv, feed{inv.members[0].source}
}

func enter(r types.ManagedObjectReference, changes map[string]any) vcenter.Update {
	return update(vcenter.Enter, r, changes)
}

func update(kind vcenter.Kind, r types.ManagedObjectReference, changes map[string]any) vcenter.Update {
	u := vcenter.Update{Kind: kind, Ref: r}
	for name, val := range changes {
		u.Changes = append(u.Changes, types.PropertyChange{Name: name, Val: val})
	}
	return u
}

func uuidOf(t testing.TB, s string) UUID {
	t.Helper()
	u, err := match.ParseUUID(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func both(exact, others []*VM) []*VM { return slices.Concat(exact, others) }

func names(vms []*VM) []string {
	var names []string
	for _, vm := range vms {
		names = append(names, vm.Name)
	}
	return names
}

const someUUID = "42010a3b-1c2d-4e5f-8071-92a3b4c5d6e7"

// The life of a VM in the index: every key follows every change, and nothing is left at the end.
func TestIndexLife(t *testing.T) {
	_, f := offline(t, Categories{})
	x, vm, u := f.index, ref("VirtualMachine", "vm-1"), uuidOf(t, someUUID)
	f.Update([]vcenter.Update{enter(vm, map[string]any{
		"name": "one", "summary.config.uuid": "42010A3B-1C2D-4E5F-8071-92A3B4C5D6E7", "guest.hostName": "One.Example.org",
		"guest.net": types.ArrayOfGuestNicInfo{GuestNicInfo: []types.GuestNicInfo{
			{DeviceConfigId: 4000, IpAddress: []string{"10.0.0.1", "fe80::1", "2001:db8::1", "nonsense"}},
			{DeviceConfigId: -1, IpAddress: []string{"10.244.0.1"}},
		}},
		"summary.config.numCpu": int32(4), "summary.config.memorySizeMB": int32(8192),
	})})
	ip := netip.MustParseAddr
	check := func(what string, vms []*VM, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, names(vms)); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	check("uuid", x.uuid(u), "one")
	check("swapped uuid", x.uuid(u.Swapped()))
	check("full name", both(x.host("one.example.org")), "one")
	check("short name", both(x.host("one")), "one")
	check("ipv4", x.ip(ip("10.0.0.1")), "one")
	check("ipv6", x.ip(ip("2001:db8::1")), "one")
	check("address of a pseudo adapter", x.ip(ip("10.244.0.1")))

	before := x.uuid(u)[0]
	f.Update([]vcenter.Update{update(vcenter.Modify, vm, map[string]any{
		"guest.hostName": nil, "guest.net": nil, "summary.config.uuid": "", "name": "uno",
	})})
	check("uuid after a blank one", x.uuid(u), "uno")
	check("name after the guest stopped", both(x.host("one.example.org")))
	check("address after the guest stopped", x.ip(ip("10.0.0.1")))
	if before.Name != "one" || before.HostName == "" {
		t.Errorf("a VM handed out before has changed: %+v", before)
	}
	if vm := x.uuid(u)[0]; vm.NumCPU != 4 || vm.MemoryMB != 8192 {
		t.Errorf("a change of one property lost others: %+v", vm)
	}

	f.Update([]vcenter.Update{{Kind: vcenter.Leave, Ref: vm}, update(vcenter.Modify, vm, map[string]any{"name": "late"})})
	check("uuid after leaving", x.uuid(u))
	if n := len(x.vms) + len(x.unknown) + len(x.byUUID) + len(x.byName) + len(x.byLabel) + len(x.byIP); n != 0 {
		t.Errorf("%d entries left", n)
	}
	if diff := cmp.Diff([]types.ManagedObjectReference{vm}, x.lastSeen(u.Swapped())); diff != "" {
		t.Error(diff)
	}
	x.forget(u)
	if got := x.lastSeen(u); got != nil {
		t.Errorf("still remembered: %v", got)
	}
}

// An Enter after a lost watch replaces everything, except that a blank UUID does not replace a known one.
func TestIndexEnterAgain(t *testing.T) {
	_, f := offline(t, Categories{})
	vm := ref("VirtualMachine", "vm-1")
	f.Update([]vcenter.Update{
		enter(vm, map[string]any{"name": "one", "summary.config.uuid": someUUID, "guest.hostName": "one"}),
		enter(vm, map[string]any{"name": "one"}),
	})
	if got := both(f.index.host("one")); len(got) != 0 {
		t.Errorf("hostname of before: %v", got)
	}
	if got := names(f.index.uuid(uuidOf(t, someUUID))); len(got) != 1 {
		t.Errorf("by uuid: %v", got)
	}
}

func TestIndexDuplicates(t *testing.T) {
	_, f := offline(t, Categories{})
	for _, n := range []string{"a", "b"} {
		f.Update([]vcenter.Update{enter(ref("VirtualMachine", n), map[string]any{
			"name": n, "summary.config.uuid": someUUID, "guest.hostName": "same",
		})})
	}
	u := uuidOf(t, someUUID)
	if got := names(f.index.uuid(u)); len(got) != 2 {
		t.Errorf("by uuid: %v", got)
	}
	if _, err := (Result{VMs: f.index.uuid(u)}).One(); err == nil {
		t.Error("one of two, without an error")
	}
	f.Update([]vcenter.Update{{Kind: vcenter.Leave, Ref: ref("VirtualMachine", "a")}})
	if diff := cmp.Diff([]string{"b"}, names(both(f.index.host("same")))); diff != "" {
		t.Error(diff)
	}
	if got := f.index.lastSeen(u); len(got) != 2 {
		t.Errorf("to be asked for: %v, want the one that is there and the one that was", got)
	}
}

// A vCenter that reports a loop while objects move does not cause an endless loop.
func TestLoop(t *testing.T) {
	inv, f := offline(t, Categories{Region: "r", Zone: "z"})
	a, b, vm := ref("Folder", "a"), ref("Folder", "b"), ref("VirtualMachine", "vm-1")
	f.Update([]vcenter.Update{
		enter(a, map[string]any{"parent": b}), enter(b, map[string]any{"parent": a}),
		enter(vm, map[string]any{"summary.config.uuid": someUUID, "parent": a}),
	})
	f.Synced()
	if _, err := inv.Zone(f.index.vms[vm]); err == nil {
		t.Error("a zone")
	}
	if dc := inv.Datacenter(f.index.vms[vm]); dc != "" {
		t.Errorf("datacenter %q", dc)
	}
}
