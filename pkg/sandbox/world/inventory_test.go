package world_test

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

// batch is a batch of updates with what most cases need.
type batch []vcenter.Update

type props map[string]any

func (b *batch) add(kind vcenter.Kind, r ref, p props) {
	u := vcenter.Update{Kind: kind, Ref: r}
	for name, val := range p {
		u.Changes = append(u.Changes, types.PropertyChange{Name: name, Op: types.PropertyChangeOpAssign, Val: val})
	}
	*b = append(*b, u)
}

type ref = types.ManagedObjectReference

func mo(kind, value string) ref { return ref{Type: kind, Value: value} }

var (
	root    = mo("Folder", "root")
	dc      = mo("Datacenter", "dc")
	dcVMs   = mo("Folder", "dc-vm")
	dcHosts = mo("Folder", "dc-host")
	cluster = mo("ClusterComputeResource", "c1")
	alone   = mo("ComputeResource", "cr-esx-2")
	esx1    = mo("HostSystem", "esx-1")
	esx2    = mo("HostSystem", "esx-2")
	vm1     = mo("VirtualMachine", "vm-1")
	vm2     = mo("VirtualMachine", "vm-2")
	boot    = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
)

// small is an inventory of one datacenter in a folder, with a cluster and a standalone host, and a VM on each: vm-1 on
// esx-1 with everything set, vm-2 on esx-2 with hardly anything.
func small() batch {
	var b batch
	in := func(r ref, name string, parent ref, p props) {
		all := props{"name": name}
		if parent != (ref{}) {
			all["parent"] = parent
		}
		maps.Copy(all, p)
		b.add(vcenter.Enter, r, all)
	}
	// A vCenter reports objects in any order, VMs before their parents.
	in(vm2, "b", dcVMs, props{"runtime.host": esx2})
	in(vm1, "a", mo("Folder", "kube"), props{
		"config.uuid": "42000000-0000-4000-8000-00000000000A", "config.guestId": "ubuntu64Guest",
		"config.hardware.numCPU": int32(4), "config.hardware.memoryMB": int32(3 << 10),
		"guest.hostName": "Worker-1.example", "guest.toolsRunningStatus": "guestToolsRunning",
		"guest.net": types.ArrayOfGuestNicInfo{GuestNicInfo: []types.GuestNicInfo{
			{IpAddress: []string{"10.0.0.1", "fe80::1", "fd00::1"}}, {IpAddress: []string{"169.254.1.1", "nonsense", "10.1.0.1"}}, {},
		}},
		"runtime.powerState":      types.VirtualMachinePowerStatePoweredOn,
		"runtime.connectionState": types.VirtualMachineConnectionStateConnected,
		"runtime.host":            esx1, "runtime.bootTime": boot,
	})
	in(mo("Folder", "kube"), "kube", dcVMs, nil)
	in(dcVMs, "vm", dc, nil)
	in(esx2, "esx-2", alone, nil)
	in(esx1, "esx-1", cluster, props{
		"runtime.connectionState": types.HostSystemConnectionStateConnected, "runtime.powerState": types.HostSystemPowerStatePoweredOn,
		"summary.hardware.numCpuCores": int16(16), "summary.hardware.memorySize": int64(64 << 30),
	})
	in(alone, "esx-2", dcHosts, nil)
	in(cluster, "c1", dcHosts, nil)
	in(dcHosts, "host", dc, nil)
	in(dc, "dc", mo("Folder", "americas"), nil)
	in(mo("Folder", "americas"), "americas", root, nil)
	in(root, "Datacenters", ref{}, nil)
	return b
}

// inventory returns one named vc that received the batches.
func inventory(batches ...batch) *world.Inventory {
	i := world.NewInventory("vc", nil)
	for _, b := range batches {
		i.Update(b)
	}
	return i
}

func fullVM() world.VM {
	return world.VM{
		Exists: true, BootTime: boot, Ref: vm1,
		VM: api.VM{
			Name: "a", VCenter: "vc", Datacenter: "dc", Cluster: "c1", Host: "esx-1", Path: "/americas/dc/vm/kube/a", MoRef: "vm-1",
			UUID: "42000000-0000-4000-8000-00000000000A", Power: "on", Connection: "connected", Tools: true,
			Hostname: "Worker-1.example", Addresses: []string{"10.0.0.1", "fd00::1", "10.1.0.1"},
			CPUs: 4, MemoryBytes: 3 << 30, GuestID: "ubuntu64Guest",
		},
	}
}

func bareVM() world.VM {
	return world.VM{Exists: true, Ref: vm2, VM: api.VM{Name: "b", VCenter: "vc", Datacenter: "dc", Host: "esx-2", Path: "/americas/dc/vm/b", MoRef: "vm-2"}}
}

func TestListings(t *testing.T) {
	i := inventory(small())
	if diff := cmp.Diff([]world.VM{bareVM(), fullVM()}, i.VMs()); diff != "" { // by path, not by name
		t.Errorf("VMs (-want +got):\n%s", diff)
	}
	wantHosts := []api.Host{
		{Name: "esx-1", VCenter: "vc", Datacenter: "dc", Cluster: "c1", Connection: "connected", Power: "on", CPUs: 16, MemoryBytes: 64 << 30, VMs: 1},
		{Name: "esx-2", VCenter: "vc", Datacenter: "dc", VMs: 1},
	}
	if diff := cmp.Diff(wantHosts, i.Hosts()); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
	wantDCs := []api.Datacenter{{Name: "dc", VCenter: "vc", Path: "/americas/dc", Hosts: 2, VMs: 2}}
	if diff := cmp.Diff(wantDCs, i.Datacenters()); diff != "" {
		t.Errorf("datacenters (-want +got):\n%s", diff)
	}
}

func TestHostPower(t *testing.T) {
	for state, want := range map[types.HostSystemPowerState]string{
		types.HostSystemPowerStatePoweredOn: "on", types.HostSystemPowerStatePoweredOff: "off", types.HostSystemPowerStateStandBy: "standby",
		types.HostSystemPowerStateUnknown: "unknown", "": "",
	} {
		var b batch
		b.add(vcenter.Enter, esx1, props{"runtime.powerState": state})
		if got := inventory(b).Hosts()[0].Power; got != want {
			t.Errorf("%q is %q, want %q", state, got, want)
		}
	}
}

// Everything that listings read must be asked for.
func TestSpecAsksForWhatIsRead(t *testing.T) {
	asked := world.Spec().Properties
	for _, u := range small() {
		kind := u.Ref.Type
		if kind == "ClusterComputeResource" {
			kind = "ComputeResource" // the base type stands for it
		}
		have := map[string]bool{}
		for _, p := range asked[kind] {
			have[p] = true
		}
		for _, c := range u.Changes {
			if !have[c.Name] {
				t.Errorf("%s: %s is not watched", kind, c.Name)
			}
		}
	}
}

func TestUpdates(t *testing.T) {
	for _, tc := range []struct {
		name        string
		then        func(*batch)
		want        []world.VM
		wasReported []string
	}{
		{
			name: "modified", then: func(b *batch) {
				b.add(vcenter.Modify, vm1, props{"runtime.powerState": types.VirtualMachinePowerStatePoweredOff, "config.hardware.numCPU": int32(8)})
			},
			want: []world.VM{bareVM(), edited(fullVM(), func(v *world.VM) { v.Power, v.CPUs = "off", 8 })}, wasReported: []string{"a off"},
		},
		{
			name: "properties unset, as at power off", then: func(b *batch) {
				b.add(vcenter.Modify, vm1, props{"guest.hostName": nil, "guest.net": nil, "runtime.bootTime": nil, "guest.toolsRunningStatus": "guestToolsNotRunning"})
			},
			want: []world.VM{bareVM(), edited(fullVM(), func(v *world.VM) {
				v.Hostname, v.Addresses, v.BootTime, v.Tools = "", nil, time.Time{}, false
			})}, wasReported: []string{"a on"},
		},
		{
			name: "suspended, then twice more in one batch", then: func(b *batch) {
				b.add(vcenter.Modify, vm1, props{"runtime.powerState": types.VirtualMachinePowerStateSuspended})
				b.add(vcenter.Modify, vm1, props{"runtime.powerState": types.VirtualMachinePowerState("unheard-of")})
				b.add(vcenter.Modify, vm1, props{"runtime.powerState": types.VirtualMachinePowerStatePoweredOn})
			},
			want: []world.VM{bareVM(), fullVM()}, wasReported: []string{"a suspended", "a ", "a on"},
		},
		{
			name: "moved to another host and renamed", then: func(b *batch) {
				b.add(vcenter.Modify, vm1, props{"runtime.host": esx2, "name": "z"})
			},
			want: []world.VM{bareVM(), edited(fullVM(), func(v *world.VM) {
				v.Name, v.Path, v.Host, v.Cluster = "z", "/americas/dc/vm/kube/z", "esx-2", ""
			})}, wasReported: []string{"z on"},
		},
		{
			name: "gone", then: func(b *batch) { b.add(vcenter.Leave, vm1, nil) },
			want: []world.VM{bareVM()}, wasReported: []string{"a gone"},
		},
		{
			name: "gone and created again", then: func(b *batch) {
				b.add(vcenter.Leave, vm1, nil)
				b.add(vcenter.Modify, vm1, props{"name": "nobody"}) // too late
				b.add(vcenter.Enter, mo("VirtualMachine", "vm-3"), props{"name": "a", "parent": dcVMs})
			},
			want: []world.VM{
				{Exists: true, Ref: mo("VirtualMachine", "vm-3"), VM: api.VM{Name: "a", VCenter: "vc", Datacenter: "dc", Path: "/americas/dc/vm/a", MoRef: "vm-3"}},
				bareVM(),
			},
			wasReported: []string{"a gone", "a "},
		},
		{
			name: "batch anew: what is not batch again is void", then: func(b *batch) {
				b.add(vcenter.Enter, vm1, props{"name": "a", "parent": dcVMs})
			},
			want: []world.VM{
				{Exists: true, Ref: vm1, VM: api.VM{Name: "a", VCenter: "vc", Datacenter: "dc", Path: "/americas/dc/vm/a", MoRef: "vm-1"}},
				bareVM(),
			},
			wasReported: []string{"a "},
		},
		{
			name: "a host's change is no VM's", then: func(b *batch) {
				b.add(vcenter.Modify, esx1, props{"name": "esx-1.example"})
			},
			want: []world.VM{bareVM(), edited(fullVM(), func(v *world.VM) { v.Host = "esx-1.example" })},
		},
		{
			name: "of another type than expected", then: func(b *batch) {
				b.add(vcenter.Modify, vm1, props{"name": 7, "runtime.host": "esx-1", "guest.net": "none"})
			},
			want: []world.VM{bareVM(), edited(fullVM(), func(v *world.VM) {
				v.Name, v.Path, v.Host, v.Cluster, v.Addresses = "", "/americas/dc/vm/kube/", "", "", nil
			})}, wasReported: []string{" on"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			i := world.NewInventory("vc", func(i *world.Inventory, vms []world.VM) {
				for _, v := range vms {
					state := v.Power
					if !v.Exists {
						state = "gone"
					}
					got = append(got, v.Name+" "+state)
				}
				i.VMs() // it may be asked then
			})
			i.Update(small())
			if diff := cmp.Diff([]string{"b ", "a on"}, got); diff != "" {
				t.Errorf("batch at first (-want +got):\n%s", diff)
			}
			got = nil
			var then batch
			tc.then(&then)
			i.Update(then)
			if diff := cmp.Diff(tc.want, i.VMs()); diff != "" {
				t.Errorf("VMs (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wasReported, got); diff != "" {
				t.Errorf("batch (-want +got):\n%s", diff)
			}
		})
	}
}

func edited(v world.VM, edit func(*world.VM)) world.VM {
	edit(&v)
	return v
}

func TestNearestTag(t *testing.T) {
	kube := mo("Folder", "kube")
	for _, tc := range []struct {
		name         string
		region, zone map[ref]string
		want         [2]string
	}{
		{name: "none"},
		{name: "of the datacenter", region: map[ref]string{dc: "us"}, zone: map[ref]string{dc: "us-1"}, want: [2]string{"us", "us-1"}},
		{
			name:   "each by its nearest",
			region: map[ref]string{root: "earth", dc: "us"}, zone: map[ref]string{dc: "us-1", cluster: "us-2", esx1: "us-3", esx2: "other"},
			want: [2]string{"us", "us-3"},
		},
		{
			name:   "the host's go before the VM's own",
			region: map[ref]string{cluster: "host's", vm1: "own"}, zone: map[ref]string{cluster: "host's", vm1: "own"},
			want: [2]string{"host's", "host's"},
		},
		{
			name:   "the VM's folder when the host has none",
			region: map[ref]string{kube: "us", alone: "other"}, zone: map[ref]string{kube: "us-1", dcVMs: "us-2"},
			want: [2]string{"us", "us-1"},
		},
		{
			name:   "the VM's when the host has one only, and no mixture",
			region: map[ref]string{cluster: "host's", kube: "own"}, zone: map[ref]string{kube: "own"},
			want: [2]string{"own", "own"},
		},
		{
			name:   "half of the host's when nobody has both",
			region: map[ref]string{cluster: "host's"}, zone: map[ref]string{kube: "own"},
			want: [2]string{"host's", ""},
		},
		{name: "half of the VM's", zone: map[ref]string{kube: "own"}, want: [2]string{"", "own"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			i := inventory(small())
			i.SetTags(world.Tags{Region: tc.region, Zone: tc.zone})
			v := i.VMs()[1]
			if got := [2]string{v.Region, v.Zone}; got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}

	i := inventory(small())
	i.SetTags(world.Tags{Region: map[ref]string{root: "us"}, Zone: map[ref]string{cluster: "us-1"}})
	if got := i.Datacenters()[0]; got.Region != "us" || got.Zone != "" {
		t.Errorf("datacenter is in %q, %q", got.Region, got.Zone)
	}
	i.SetTags(world.Tags{})
	if got := i.Datacenters()[0]; got.Region != "" {
		t.Errorf("datacenter is in %q after its tag was taken away", got.Region)
	}
}

// A corrupt inventory is shown somehow, and does not hang or panic.
func TestOddInventories(t *testing.T) {
	a, b := mo("Folder", "a"), mo("Folder", "b")
	for name, updates := range map[string]func(*batch){
		"a cycle": func(u *batch) {
			u.add(vcenter.Enter, a, props{"name": "a", "parent": b})
			u.add(vcenter.Enter, b, props{"name": "b", "parent": a})
			u.add(vcenter.Enter, vm1, props{"name": "vm", "parent": a, "runtime.host": vm1})
		},
		"its own parent":  func(u *batch) { u.add(vcenter.Enter, vm1, props{"name": "vm", "parent": vm1}) },
		"unknown parent":  func(u *batch) { u.add(vcenter.Enter, vm1, props{"name": "vm", "parent": a}) },
		"no parent":       func(u *batch) { u.add(vcenter.Enter, vm1, props{"name": "vm"}) },
		"gone, not known": func(u *batch) { u.add(vcenter.Leave, vm2, nil); u.add(vcenter.Enter, vm1, props{"name": "vm"}) },
		"hosts and datacenters without anything": func(u *batch) {
			u.add(vcenter.Enter, esx1, nil)
			u.add(vcenter.Enter, dc, nil)
			u.add(vcenter.Enter, vm1, props{"name": "vm"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			var u batch
			updates(&u)
			i := inventory(u)
			i.SetTags(world.Tags{Region: map[ref]string{root: "us"}})
			vms := i.VMs()
			if len(vms) != 1 || vms[0].Name != "vm" || vms[0].Region != "" {
				t.Errorf("%+v", vms)
			}
			i.Hosts()
			i.Datacenters()
		})
	}
}

func TestWatched(t *testing.T) {
	i := inventory()
	var got []bool
	for _, step := range []func(){func() {}, i.Synced, func() { i.Lost(errors.New("gone")) }, func() { i.Update(small()) }, i.Synced} {
		step()
		got = append(got, i.Watched())
	}
	if diff := cmp.Diff([]bool{false, true, false, false, true}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	i.Lost(errors.New("gone"))
	if n := len(i.VMs()); n != 2 {
		t.Errorf("%d VMs are known after the watch was lost", n)
	}
}

func TestMachine(t *testing.T) {
	want := node.VM{
		Exists: true, Power: node.On, BootTime: boot, GuestUp: true, Hostname: "Worker-1.example",
		UUID: "42000000-0000-4000-8000-00000000000A", CPUs: 4, MemoryBytes: 3 << 30, GuestID: "ubuntu64Guest",
	}
	if diff := cmp.Diff(want, fullVM().NodeVM()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, edit := range map[string]func(*world.VM){
		"no tools": func(v *world.VM) { v.Tools = false }, "no hostname": func(v *world.VM) { v.Hostname = "" },
	} {
		if edited(fullVM(), edit).NodeVM().GuestUp {
			t.Errorf("%s: the guest is up", name)
		}
	}
	for state, want := range map[types.VirtualMachinePowerState]node.Power{
		types.VirtualMachinePowerStatePoweredOn: node.On, types.VirtualMachinePowerStatePoweredOff: node.Off,
		types.VirtualMachinePowerStateSuspended: node.Suspended, "": "",
	} {
		var b batch
		b.add(vcenter.Enter, vm1, props{"runtime.powerState": state})
		if got := inventory(b).VMs()[0].NodeVM().Power; got != want {
			t.Errorf("%q is %q, want %q", state, got, want)
		}
	}
}

// Objects that the vCenter shows at the same path are listed in the order of their morefs.
func TestOrderIsStable(t *testing.T) {
	var b batch
	b.add(vcenter.Enter, root, props{"name": "Datacenters"})
	for n := range 20 {
		b.add(vcenter.Enter, mo("VirtualMachine", fmt.Sprintf("vm-%02d", (n*7)%20)), props{"name": "twin", "parent": root})
	}
	for n, v := range inventory(b).VMs() {
		if want := fmt.Sprintf("vm-%02d", n); v.MoRef != want || v.Path != "/twin" {
			t.Errorf("%d: %s at %s, want %s", n, v.MoRef, v.Path, want)
		}
	}
}
