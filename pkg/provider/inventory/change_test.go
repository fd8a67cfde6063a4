package inventory

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/tagged"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// changeLog collects changes as texts: "everything", "one" for a VM that changed, "-one" for one that left.
type changeLog struct{ changes []string }

func (l *changeLog) add(c Change) {
	var parts []string
	if c.All {
		parts = append(parts, "everything")
	}
	for _, vm := range c.VMs {
		parts = append(parts, vm.Name)
	}
	for _, vm := range c.Left {
		parts = append(parts, "-"+vm.Name)
	}
	l.changes = append(l.changes, strings.Join(parts, " "))
}

func (l *changeLog) take() []string {
	taken := l.changes
	l.changes = nil
	return taken
}

// listening is tree in sync, with a listener.
func listening(t *testing.T, datacenters ...string) (*Inventory, feed, *changeLog) {
	t.Helper()
	inv, f := offline(t, Categories{Region: "r", Zone: "z"})
	tree(f)
	inv.members[0].datacenters = datacenters
	l := &changeLog{}
	inv.members[0].onChange = l.add
	t.Cleanup(inv.members[0].listen())
	return inv, f, l
}

// A batch is one change, and one without effect is none.
func TestChanges(t *testing.T) {
	vm1, vm2 := ref("VirtualMachine", "vm-1"), ref("VirtualMachine", "vm-2")
	vms, dc, host, cluster := ref("Folder", "vms"), ref("Datacenter", "dc"), ref("HostSystem", "host"), ref("ClusterComputeResource", "cluster")
	nics := func(ip string) any {
		return types.ArrayOfGuestNicInfo{GuestNicInfo: []types.GuestNicInfo{{Network: "n", DeviceConfigId: 4000, IpAddress: []string{ip}}}}
	}
	second := enter(vm2, map[string]any{"name": "two", "parent": vms})
	leave := vcenter.Update{Kind: vcenter.Leave, Ref: vm2}
	metadata := func(text, encoding any) map[string]any {
		return map[string]any{metadataPath: text, encodingPath: encoding}
	}
	option := func(value string) any { return types.OptionValue{Key: "k", Value: value} }
	for _, tc := range []struct {
		name   string
		before []vcenter.Update
		batch  []vcenter.Update
		want   []string
	}{
		{"one of a property", nil, []vcenter.Update{update(vcenter.Modify, vm1, map[string]any{"summary.config.numCpu": int32(9)})}, []string{"vm-1"}},
		{"the same again", nil, []vcenter.Update{update(vcenter.Modify, vm1, map[string]any{"name": "vm-1", "runtime.host": host})}, nil},
		{"a blank uuid", nil, []vcenter.Update{update(vcenter.Modify, vm1, map[string]any{"summary.config.uuid": ""})}, nil},
		{"there and back", nil, []vcenter.Update{update(vcenter.Modify, vm1, map[string]any{"name": "x"}), update(vcenter.Modify, vm1, map[string]any{"name": "vm-1"})}, nil},
		{"several", nil, []vcenter.Update{update(vcenter.Modify, vm1, map[string]any{"name": "uno"}), second}, []string{"uno two"}},
		{"leaving", []vcenter.Update{second}, []vcenter.Update{leave}, []string{"-two"}},
		{"coming and leaving", nil, []vcenter.Update{second, leave}, nil},
		{"leaving and coming", []vcenter.Update{second}, []vcenter.Update{leave, second}, nil},
		{"unknown VM", nil, []vcenter.Update{update(vcenter.Modify, vm2, map[string]any{"name": "x"})}, nil},
		{"address", []vcenter.Update{update(vcenter.Modify, vm1, map[string]any{"guest.net": nics("10.0.0.1")})}, []vcenter.Update{update(vcenter.Modify, vm1, map[string]any{"guest.net": nics("10.0.0.2")})}, []string{"vm-1"}},
		{"the same address", []vcenter.Update{update(vcenter.Modify, vm1, map[string]any{"guest.net": nics("10.0.0.1")})}, []vcenter.Update{update(vcenter.Modify, vm1, map[string]any{"guest.net": nics("10.0.0.1")})}, nil},
		{"metadata that says nothing new", nil, []vcenter.Update{update(vcenter.Modify, vm1, metadata(option("instance-id: x"), nil))}, nil},
		{"metadata", nil, []vcenter.Update{update(vcenter.Modify, vm1, metadata(option("network: {version: 2, ethernets: {a: {addresses: [10.0.0.9/24]}}}"), nil))}, []string{"vm-1"}},
		{"metadata that cannot be read", nil, []vcenter.Update{update(vcenter.Modify, vm1, metadata(option("!"), option("base64")))}, []string{"vm-1"}},
		{"cluster renamed", nil, []vcenter.Update{update(vcenter.Modify, cluster, map[string]any{"name": "x"})}, nil},
		{"datacenter renamed", nil, []vcenter.Update{update(vcenter.Modify, dc, map[string]any{"name": "x"})}, []string{"everything"}},
		{"datacenter reported again", nil, []vcenter.Update{update(vcenter.Modify, dc, map[string]any{"name": "dc"})}, nil},
		{"folder moved", nil, []vcenter.Update{update(vcenter.Modify, vms, map[string]any{"parent": ref("Folder", "us")})}, []string{"everything"}},
		{"folder and VM", nil, []vcenter.Update{update(vcenter.Modify, vms, map[string]any{"parent": ref("Folder", "us")}), second}, []string{"everything two"}},
		{"host hidden", nil, []vcenter.Update{{Kind: vcenter.Leave, Ref: host}}, []string{"everything"}},
		{"host seen again", []vcenter.Update{{Kind: vcenter.Leave, Ref: host}}, []vcenter.Update{enter(host, map[string]any{"name": "h", "parent": cluster})}, []string{"everything"}},
		{"new host with nothing on it", nil, []vcenter.Update{enter(ref("HostSystem", "h2"), map[string]any{"name": "h2", "parent": cluster})}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, f, l := listening(t)
			f.Update(tc.before)
			l.take()
			f.Update(tc.batch)
			if diff := cmp.Diff(tc.want, l.take()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Coming into sync and losing it affects all VMs; while not in sync nothing else is reported.
func TestChangesOfSync(t *testing.T) {
	_, f, l := listening(t)
	f.Lost(nil)
	f.Lost(nil)
	if diff := cmp.Diff([]string{"everything"}, l.take()); diff != "" {
		t.Error(diff)
	}
	f.Update([]vcenter.Update{enter(ref("VirtualMachine", "vm-2"), map[string]any{"name": "two"}), {Kind: vcenter.Leave, Ref: ref("Folder", "vms")}})
	if got := l.take(); got != nil {
		t.Errorf("out of sync: %v", got)
	}
	f.Synced()
	if diff := cmp.Diff([]string{"everything"}, l.take()); diff != "" {
		t.Error(diff)
	}
}

// VMs outside the configured datacenters are omitted; moving in and out is reported.
func TestChangesOfOneDatacenter(t *testing.T) {
	inv, f, l := listening(t, "dc")
	vm, u := ref("VirtualMachine", "vm-1"), uuidOf(t, someUUID)
	found := func() bool { return len(inv.members[0].filter(f.index.uuid(u))) == 1 }
	other := []vcenter.Update{
		enter(ref("Datacenter", "dc2"), map[string]any{"name": "dc2", "parent": ref("Folder", "us")}),
		enter(ref("Folder", "vms2"), map[string]any{"name": "vms2", "parent": ref("Datacenter", "dc2")}),
		enter(ref("VirtualMachine", "vm-2"), map[string]any{"name": "two", "parent": ref("Folder", "vms2")}),
	}
	f.Update(other)
	f.Update([]vcenter.Update{update(vcenter.Modify, ref("VirtualMachine", "vm-2"), map[string]any{"name": "dos"})})
	if got := l.take(); got != nil {
		t.Errorf("outside: %v", got)
	}
	if !found() {
		t.Error("not found inside")
	}
	move := func(folder string) {
		f.Update([]vcenter.Update{update(vcenter.Modify, vm, map[string]any{"parent": ref("Folder", folder)})})
	}
	move("vms2")
	if diff := cmp.Diff([]string{"-vm-1"}, l.take()); diff != "" || found() {
		t.Errorf("moved out, found %v: %s", found(), diff)
	}
	if err := inv.members[0].checkOutOfScope(u); err == nil {
		t.Error("nobody knows that it is outside")
	}
	move("k8s")
	if diff := cmp.Diff([]string{"vm-1"}, l.take()); diff != "" || !found() {
		t.Errorf("moved in, found %v: %s", found(), diff)
	}
	// The name matches another datacenter now.
	f.Update([]vcenter.Update{
		update(vcenter.Modify, ref("Datacenter", "dc"), map[string]any{"name": "old"}),
		update(vcenter.Modify, ref("Datacenter", "dc2"), map[string]any{"name": "dc"}),
	})
	if !slices.Contains(l.take(), "everything") || found() {
		t.Errorf("renamed: found %v", found())
	}
}

// Tags that differ affect all VMs, tags that were read again without a difference none.
func TestChangesOfTags(t *testing.T) {
	inv, _, l := listening(t)
	tags := inv.members[0].tags
	read := func(zone tagged.Objects) {
		old := tags.state.Load()
		tags.publish(old, &tagState{zone: zone, readAt: time.Now()}, byTimer)
	}
	read(tagged.Objects{ref("Datacenter", "dc"): {"z"}})
	read(tagged.Objects{ref("Datacenter", "dc"): {"z"}})
	if diff := cmp.Diff([]string{"everything"}, l.take()); diff != "" {
		t.Error(diff)
	}
	read(nil)
	if diff := cmp.Diff([]string{"everything"}, l.take()); diff != "" {
		t.Error(diff)
	}
}
