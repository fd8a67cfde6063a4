package fold_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

// pair is a VM and its node, of which all is well, with a volume; a case changes what it is about.
type pair struct {
	vm      *api.VM
	node    *api.Node
	host    *api.Host
	volume  *api.Volume
	att     *api.Attachment
	further []api.Update
}

func well() *pair {
	return &pair{
		host: &api.Host{Name: "esx", VCenter: "us", Connection: "connected", Power: "poweredOn"},
		vm: &api.VM{
			Name: "w", VCenter: "us", Datacenter: "dc", Cluster: "c", Host: "esx", MoRef: "vm-1", UUID: "AAAAAAAA-0000-4000-8000-000000000001", Power: "on", Connection: "connected",
			Tools: true, Hostname: "w", Addresses: []string{"198.18.0.5", "fd00::5"}, Region: "r", Zone: "z", Role: "worker", Process: "running",
		},
		node: &api.Node{
			Name: "w", VM: "w", VCenter: "us", Registered: true, Ready: "True", Initialized: true, ProviderID: "vsphere://aaaaaaaa-0000-4000-8000-000000000001", Region: "r", Zone: "z",
			Addresses: []string{"198.18.0.5"},
		},
		volume: &api.Volume{
			Name: "pvc", Claim: "default/data", Handle: "h", VCenter: "us", VM: "w", Node: "w", Attached: true, State: api.VolumeInUse,
		},
		att: &api.Attachment{Name: "csi-1", Volume: "pvc", Node: "w", Attached: true},
	}
}

func (p *pair) updates() []api.Update {
	list := []api.Update{{Node: p.node}, {Volume: p.volume}, {Host: p.host}}
	if p.vm != nil {
		list = append(list, api.Update{VM: p.vm})
	}
	if p.att != nil {
		list = append(list, api.Update{Attachment: p.att})
	}
	return append(list, p.further...)
}

func lease(state, kind, vcenter, name string) api.Update {
	return api.Update{Lease: &api.Lease{ID: "f1", Fault: "x", State: state, Targets: []api.LeaseTarget{{Kind: kind, VCenter: vcenter, Name: name}}}}
}

func TestFindings(t *testing.T) {
	notReady := func(p *pair) { p.node.Ready = "False" }
	const upButNotReady = "node w ready: VM and guest up, node NotReady"
	for _, tc := range []struct {
		name   string
		change func(p *pair)
		want   []string
	}{
		{"all is well", func(*pair) {}, nil},

		{"VM off", func(p *pair) { p.vm.Power = "off" }, []string{"node w ready: VM off, node still Ready"}},
		{"VM off, node NotReady", func(p *pair) { p.vm.Power = "off"; notReady(p) }, nil},
		{"VM suspended", func(p *pair) { p.vm.Power = "suspended" }, []string{"node w ready: VM suspended, node still Ready"}},
		{"VM disconnected", func(p *pair) { p.vm.Connection = "disconnected" }, []string{"node w ready: VM disconnected, node still Ready"}},
		{"host disconnected", func(p *pair) { p.host.Connection = "notResponding" }, []string{"node w ready: host notResponding, node still Ready"}},
		{"host disconnected, node NotReady", func(p *pair) { p.host.Connection = "notResponding"; notReady(p) }, nil},
		{"host of another vCenter", func(p *pair) { p.host.Connection, p.host.VCenter = "notResponding", "eu" }, nil},

		{"NotReady", notReady, []string{upButNotReady}},
		{"unknown", func(p *pair) { p.node.Ready = "Unknown" }, []string{upButNotReady}},
		{"NotReady, guest not up", func(p *pair) { notReady(p); p.vm.Tools = false }, nil},
		{"NotReady, kubelet hung", func(p *pair) { notReady(p); p.vm.Process = "hung" }, nil},
		{"NotReady, a fault of the VM", func(p *pair) { notReady(p); p.further = append(p.further, lease("active", "VM", "us", "w")) }, nil},
		{"NotReady, a fault of the host", func(p *pair) { notReady(p); p.further = append(p.further, lease("applying", "Host", "us", "esx")) }, nil},
		{"NotReady, a fault of the kubelet", func(p *pair) { notReady(p); p.further = append(p.further, lease("active", "Component", "", "node/w")) }, nil},
		{"NotReady, a fault of the node", func(p *pair) { notReady(p); p.further = append(p.further, lease("healing", "Node", "", "w")) }, nil},
		{"NotReady, a fault of the cluster", func(p *pair) { notReady(p); p.further = append(p.further, lease("active", "Cluster", "us", "c")) }, nil},
		{"NotReady, a fault of the datacenter", func(p *pair) { notReady(p); p.further = append(p.further, lease("active", "Datacenter", "us", "dc")) }, nil},
		{"NotReady, a fault of another VM", func(p *pair) { notReady(p); p.further = append(p.further, lease("active", "VM", "eu", "w")) }, []string{upButNotReady}},
		{"NotReady, a fault that is healed", func(p *pair) { notReady(p); p.further = append(p.further, lease("healed", "VM", "us", "w")) }, []string{upButNotReady}},

		{"not initialized", func(p *pair) { p.node.Initialized = false; p.node.Region, p.node.Zone = "", "" }, []string{"node w initialized: node Ready, not initialized"}},
		{"not initialized, not ready", func(p *pair) { p.node.Initialized = false; p.vm.Tools = false; notReady(p) }, nil},

		{"no node", func(p *pair) {
			*p.node = api.Node{Name: "w", VM: "w", VCenter: "us"}
			p.volume.Node, p.volume.Attached, p.volume.VM, p.att = "", false, "", nil
		}, []string{"node w registered: VM on, no node"}},
		{"no node, no kubelet yet", func(p *pair) {
			*p.node = api.Node{Name: "w", VM: "w", VCenter: "us"}
			p.vm.Process = "stopped"
			p.volume.Node, p.volume.Attached, p.volume.VM, p.att = "", false, "", nil
		}, nil},
		{"no node, VM off", func(p *pair) {
			*p.node = api.Node{Name: "w", VM: "w", VCenter: "us"}
			p.vm.Power = "off"
			p.volume.Node, p.volume.Attached, p.volume.VM, p.att = "", false, "", nil
		}, nil},

		{"joined no more, for its UUID", func(p *pair) { p.node.VM, p.node.VCenter, p.vm.UUID = "", "", "bbbbbbbb-0000-4000-8000-000000000002" }, []string{"node w providerID: VM us/w has another UUID"}},
		{"joined no more, for its providerID", func(p *pair) { p.node.VM, p.node.VCenter, p.node.ProviderID = "", "", "vsphere://" }, []string{"node w providerID: providerID is not the VM's UUID"}},
		{"joined no more, for two VMs of its UUID", func(p *pair) { p.node.VM, p.node.VCenter = "", "" }, []string{"node w providerID: VM us/w is not the only one of its UUID"}},
		{"joined no more, called by its hostname", func(p *pair) {
			p.node.VM, p.node.VCenter, p.vm.Name, p.vm.Hostname, p.volume.VM, p.att = "", "", "machine", "W", "", nil
			p.vm.UUID = "bbbbbbbb-0000-4000-8000-000000000002"
		}, []string{"node w providerID: VM us/machine has another UUID"}},
		{"VM gone, another of its name is no node", func(p *pair) { p.node.VM, p.vm.Role = "", "" }, []string{"node w vm: VM gone, node still there"}},
		{"VM gone", func(p *pair) { p.node.VM, p.vm = "", nil }, []string{"node w vm: VM gone, node still there"}},
		{"VM gone, its row arrives later", func(p *pair) { p.vm = nil }, []string{"node w vm: VM gone, node still there"}},
		{"a node that is no VM", func(p *pair) { p.node.VM, p.node.ProviderID, p.vm = "", "kind://docker/w", nil }, nil},

		{"UUID in the other byte order", func(p *pair) { p.node.ProviderID = "AAAAAAAA-0000-0040-8000-000000000001" }, nil},
		{"another UUID", func(p *pair) { p.vm.UUID = "bbbbbbbb-0000-4000-8000-000000000002" }, []string{"node w providerID: providerID is not the VM's UUID"}},
		{"no providerID", func(p *pair) { p.node.ProviderID = "" }, nil},
		{"no UUID", func(p *pair) { p.vm.UUID = "" }, nil},

		{"zone", func(p *pair) { p.vm.Zone = "y" }, []string{"node w zone: tag says y, label says z"}},
		{"zone and region", func(p *pair) { p.vm.Zone, p.vm.Region = "y", "q" }, []string{"node w region: tag says q, label says r", "node w zone: tag says y, label says z"}},
		{"no tag", func(p *pair) { p.vm.Zone = "" }, []string{"node w zone: no zone tag, label says z"}},
		{"no label", func(p *pair) { p.node.Region = "" }, []string{"node w region: tag says r, no region label"}},
		{"neither", func(p *pair) { p.node.Region, p.vm.Region = "", "" }, nil},

		{"another address", func(p *pair) { p.vm.Addresses = []string{"198.18.0.6"} }, []string{"node w addresses: node has 198.18.0.5, VM has not"}},
		{"one address too many", func(p *pair) { p.node.Addresses = []string{"198.18.0.5", "10.0.0.1"} }, []string{"node w addresses: node has 10.0.0.1, VM has not"}},
		{"no address", func(p *pair) { p.vm.Addresses = nil }, []string{"node w addresses: node has 198.18.0.5, VM no address"}},
		{"an address written otherwise", func(p *pair) { p.node.Addresses = []string{"FD00:0::5"} }, nil},
		{"no address, guest not up", func(p *pair) { p.vm.Addresses, p.vm.Tools = nil, false }, nil},

		{"one UUID", func(p *pair) {
			p.further = append(p.further, api.Update{VM: &api.VM{Name: "copy", VCenter: "eu", MoRef: "vm-1", UUID: "aaaaaaaa-0000-4000-8000-000000000001"}})
		}, []string{"vm eu/copy uuid: UUID also of us/w", "vm us/w uuid: UUID also of eu/copy"}},
		{"another VM of no UUID", func(p *pair) {
			p.vm.UUID, p.node.ProviderID = "", ""
			p.further = append(p.further, api.Update{VM: &api.VM{Name: "copy", VCenter: "eu", MoRef: "vm-1"}})
		}, nil},
		{"another VM of that name, with other tags", func(p *pair) {
			p.further = append(p.further, api.Update{VM: &api.VM{Name: "w", VCenter: "us", MoRef: "vm-0", Path: "/dc/vm/old/w", UUID: "cccccccc-0000-4000-8000-000000000003", Power: "off"}})
		}, nil},

		{"no VM has the disk", func(p *pair) { p.volume.VM = "" }, []string{"volume default/data volume: attached to w, no VM has its disk"}},
		{"detached on both planes", func(p *pair) { p.volume.VM, p.volume.Node, p.volume.Attached, p.att = "", "", false, nil }, nil},
		{"another VM has the disk", func(p *pair) { p.volume.VM = "v" }, []string{"volume default/data volume: attached to w, disk on VM v"}},
		{"no attachment", func(p *pair) { p.att = nil }, []string{"volume default/data volume: disk on VM w, no VolumeAttachment"}},
		{"attachment to another node", func(p *pair) { p.att.Node, p.att.Attached = "v", false }, []string{"volume default/data volume: disk on VM w, not attached to v"}},
		{"wanted on another node, too", func(p *pair) {
			p.further = append(p.further, api.Update{Attachment: &api.Attachment{Name: "csi-2", Volume: "pvc", Node: "v"}})
		}, nil},
		{"being attached", func(p *pair) { p.volume.VM, p.att.Attached = "", false }, nil},
		{"lost", func(p *pair) { p.volume.State = api.VolumeLost }, []string{"volume default/data volume: CNS has no such volume"}},
		{"orphaned", func(p *pair) {
			*p.volume = api.Volume{Name: "h", Handle: "h", VCenter: "us", State: api.VolumeOrphaned}
		}, []string{"volume h volume: in CNS, no PersistentVolume"}},
		{"of another driver", func(p *pair) { p.volume.VM, p.volume.VCenter, p.volume.Handle = "", "", "" }, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := well()
			tc.change(p)
			s := lab(p.updates()...)
			if diff := cmp.Diff(tc.want, brief(s)); diff != "" {
				t.Errorf("applied at once: %s", diff)
			}
			for _, f := range s.Findings() {
				if !f.Settling || !f.Since.Equal(began) {
					t.Errorf("just found, and not settling: %+v", f)
				}
			}
			tick(s, time.Hour)
			for _, f := range s.Findings() {
				if f.Settling {
					t.Errorf("still settling: %+v", f)
				}
			}
			// The same when all was well before, and is again.
			s = lab(well().updates()...)
			after(s, time.Second, missing(well().updates(), p.updates())...)
			after(s, time.Second, p.updates()...)
			if diff := cmp.Diff(tc.want, brief(s)); diff != "" {
				t.Errorf("applied one by one: %s", diff)
			}
			after(s, time.Second, missing(p.updates(), well().updates())...)
			after(s, time.Second, well().updates()...)
			if diff := cmp.Diff([]string(nil), brief(s)); diff != "" {
				t.Errorf("all is well again: %s", diff)
			}
		})
	}
}

// missing are deletions of the rows of one list that the other has not.
func missing(of, in []api.Update) (gone []api.Update) {
	has := map[string]bool{}
	for _, u := range in {
		row, _ := world.RowOf(u)
		has[string(row.Kind)+row.Key] = true
	}
	for _, u := range of {
		if row, _ := world.RowOf(u); !has[string(row.Kind)+row.Key] {
			u.Deleted = true
			gone = append(gone, u)
		}
	}
	return gone
}

// brief is the findings in a line each.
func brief(s *fold.State) (lines []string) {
	for _, f := range s.Findings() {
		name := f.Name
		if f.Kind == "vm" {
			name = f.VCenter + "/" + f.Name
		}
		lines = append(lines, fmt.Sprintf("%s %s %s: %s", f.Kind, name, f.Field, f.Text))
	}
	return lines
}

// A lag that is normal at the sandbox's speed is settling for so long.
func TestSettling(t *testing.T) {
	for _, tc := range []struct {
		name   string
		speed  float64
		change func(p *pair)
		lasts  time.Duration
	}{
		{"node of a VM that is off", 10, func(p *pair) { p.vm.Power = "off" }, 7500 * time.Millisecond},
		{"the same at upstream's pace", 1, func(p *pair) { p.vm.Power = "off" }, 57 * time.Second},
		{"no speed is known", 0, func(p *pair) { p.vm.Power = "off" }, 57 * time.Second},
		{"tag", 10, func(p *pair) { p.vm.Zone = "y" }, 8 * time.Second},
		{"addresses", 10, func(p *pair) { p.vm.Addresses = nil }, 32 * time.Second},
		{"UUID", 10, func(p *pair) { p.vm.UUID = "bbbbbbbb-0000-4000-8000-000000000002" }, 2 * time.Second},
		{"disk", 100, func(p *pair) { p.volume.VM = "" }, 5 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := fold.New(fold.About{Speed: tc.speed}, 0)
			s.Apply(began, append(well().updates(), api.Update{Synced: true})...)
			tick(s, time.Hour)
			p := well()
			tc.change(p)
			at := time.Hour + time.Second
			var f fold.Finding
			is := func(settling bool) {
				t.Helper()
				if len(s.Findings()) != 1 {
					t.Fatalf("%+v", s.Findings())
				}
				if f = s.Findings()[0]; f.Settling != settling || !f.Since.Equal(began.Add(at)) {
					t.Errorf("at %s: %+v", s.Now(), f)
				}
			}
			after(s, at, p.updates()...)
			is(true)
			after(s, at+time.Second, p.updates()...) // repeated, it keeps its age
			is(true)
			tick(s, at+tc.lasts-1)
			is(true)
			kind := world.Kind(s.Findings()[0].Kind)
			v, of := s.Version(fold.Findings), s.Version(kind)
			if d := s.NextTick(); d <= 0 || d > time.Millisecond {
				t.Errorf("next in %s", d)
			}
			tick(s, at+tc.lasts)
			is(false)
			if s.Version(fold.Findings) == v || s.Version(kind) == of {
				t.Error("that it is settled is no change")
			}
		})
	}
}

func TestFindingsOf(t *testing.T) {
	p := well()
	p.vm.Zone, p.vm.Region, p.volume.VM = "y", "q", ""
	p.further = []api.Update{
		{VM: &api.VM{Name: "w", VCenter: "eu", MoRef: "vm-1", UUID: "aaaaaaaa-0000-4000-8000-000000000001"}},
	}
	s := lab(p.updates()...)
	for _, tc := range []struct {
		about api.Subject
		want  []string
	}{
		{api.Subject{Kind: "node", Name: "w"}, []string{"region", "zone"}},
		{api.Subject{Kind: "node", VCenter: "us", Name: "w"}, []string{"region", "zone"}},
		{api.Subject{Kind: "node", VCenter: "eu", Name: "w"}, nil},
		{api.Subject{Kind: "node", Name: "v"}, nil},
		{api.Subject{Kind: "vm", Name: "w"}, []string{"uuid", "uuid"}},
		{api.Subject{Kind: "vm", VCenter: "eu", Name: "w"}, []string{"uuid"}},
		{api.Subject{Kind: "volume", Name: "default/data"}, []string{"volume"}},
		{api.Subject{Kind: "volume", Name: "data"}, []string{"volume"}},
		{api.Subject{Kind: "volume", Name: "pvc"}, []string{"volume"}},
		{api.Subject{Kind: "volume", Name: "h"}, []string{"volume"}},
		{api.Subject{Kind: "volume", Name: "other"}, nil},
	} {
		var got []string
		for _, f := range s.FindingsOf(tc.about) {
			got = append(got, f.Field)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%+v: %s", tc.about, diff)
		}
	}
}

// TestFindingsInGuestCluster: there nodes have no region and the zone of their VirtualMachine. Tags do not count.
func TestFindingsInGuestCluster(t *testing.T) {
	p := well()
	p.node.Region, p.node.Zone, p.vm.Power = "", "zone-a", "off"
	s := fold.New(fold.About{Speed: 10, Ground: api.Ground{Supervisor: true}}, 0)
	s.Apply(began, append(p.updates(), api.Update{Synced: true})...)
	tick(s, time.Hour)
	for _, f := range s.Findings() {
		if f.Field == "region" || f.Field == "zone" {
			t.Errorf("%+v", f)
		}
	}
	if len(s.Findings()) == 0 {
		t.Error("nothing is found of a VM that is off")
	}
}

// TestFindingsWaitForAll: there are no findings before all rows have arrived.
func TestFindingsWaitForAll(t *testing.T) {
	s := fold.New(fold.About{Speed: 10}, 0)
	s.Apply(began, api.Update{Node: well().node})
	if len(s.Findings()) != 0 {
		t.Errorf("%+v", s.Findings())
	}
	s.Apply(began, append(well().updates(), api.Update{Synced: true})...)
	s.Cut(fmt.Errorf("gone"))
	after(s, time.Second, api.Update{Node: &api.Node{Name: "w", Registered: true, VM: "w", VCenter: "us", Ready: "True", Initialized: true, Zone: "y"}})
	tick(s, 2*time.Second)
	if len(s.Findings()) != 0 {
		t.Errorf("%+v", s.Findings())
	}
	after(s, 3*time.Second, api.Update{VM: well().vm}, api.Update{Synced: true}) // the volume is not sent any more
	want := []string{"node w region: tag says r, no region label", "node w zone: tag says z, label says y"}
	if diff := cmp.Diff(want, brief(s)); diff != "" {
		t.Error(diff)
	}
}

func TestFindingsOfTheStory(t *testing.T) {
	for at, want := range map[time.Duration][]string{
		15 * time.Second: nil,
		22 * time.Second: {"node worker-west-1 ready: VM off, node still Ready"},
		30 * time.Second: nil,
		58 * time.Second: nil,
		65 * time.Second: {"node worker-west-1 zone: tag says us-east, label says us-west"},
		90 * time.Second: {"node worker-west-1 zone: tag says us-east, label says us-west"},
	} {
		if diff := cmp.Diff(want, brief(tuitest.At(at))); diff != "" {
			t.Errorf("at %s: %s", at, diff)
		}
	}
}

// TestFindingsDependOnRowsAlone: findings depend on the rows only, not on the order of their changes.
func TestFindingsDependOnRowsAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	random := func() api.Update {
		u := api.Update{Deleted: r.IntN(6) == 0}
		n := fmt.Sprint(r.IntN(3))
		switch r.IntN(7) {
		case 0, 1:
			u.VM = &api.VM{
				Name: "w" + n, VCenter: pick("us", "eu"), MoRef: "vm-" + fmt.Sprint(r.IntN(3)), UUID: pick("aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002", "cccccccc-0000-4000-8000-000000000003", ""), Power: pick("on", "on", "off"), Tools: r.IntN(3) > 0,
				Host: "esx" + n, Hostname: pick("w0", "W1", ""), Zone: pick("x", "y"), Role: pick("worker", ""), Addresses: []string{pick("10.0.0.1", "10.0.0.2")},
			}
		case 2, 3:
			u.Node = &api.Node{
				Name: "w" + n, VM: pick("w0", "w1", "w2", ""), VCenter: pick("us", "eu"), Registered: r.IntN(4) > 0, Ready: pick("True", "False"), Initialized: r.IntN(4) > 0,
				ProviderID: pick("vsphere://aaaaaaaa-0000-4000-8000-000000000001", "vsphere://bbbbbbbb-0000-4000-8000-000000000002", ""), Zone: pick("x", "y"), Addresses: []string{"10.0.0.1"},
			}
		case 4:
			u.Volume = &api.Volume{Name: "pvc" + n, Claim: pick("default/a", "default/b", ""), Handle: "h" + n, VCenter: "us", VM: pick("w0", "w1", ""), State: api.VolumeAttached}
		case 5:
			u.Attachment = &api.Attachment{Name: "csi-" + fmt.Sprint(r.IntN(3)), Volume: "pvc" + n, Node: pick("w0", "w1"), Attached: r.IntN(2) == 0}
		case 6:
			if r.IntN(2) == 0 {
				u.Host = &api.Host{Name: "esx" + n, VCenter: pick("us", "eu"), Connection: pick("connected", "disconnected")}
			} else {
				u.Lease = &api.Lease{ID: "f" + n, State: pick("active", "healed"), Targets: []api.LeaseTarget{{Kind: "Node", Name: "w" + n}}}
			}
		}
		return u
	}
	seen := map[string]bool{}
	s := lab()
	for i := range 4000 {
		after(s, time.Duration(i)*time.Millisecond, random())
		if i%7 != 0 {
			continue
		}
		var rows []api.Update
		for _, kind := range world.Kinds() {
			for _, row := range s.World().Rows(kind) {
				rows = append(rows, update(row))
			}
		}
		want := brief(lab(rows...))
		for _, line := range want {
			seen[line] = true
		}
		if diff := cmp.Diff(want, brief(s)); diff != "" {
			t.Fatalf("after %d updates (-from rows alone +got):\n%s", i, diff)
		}
	}
	if len(seen) < 30 {
		t.Errorf("only %d findings were there to be found", len(seen))
	}
}

// update returns the update with a row.
func update(row world.Row) (u api.Update) {
	switch v := row.Value.(type) {
	case api.VM:
		u.VM = &v
	case api.Node:
		u.Node = &v
	case api.Volume:
		u.Volume = &v
	case api.Attachment:
		u.Attachment = &v
	case api.Host:
		u.Host = &v
	case api.Lease:
		u.Lease = &v
	}
	return u
}
