package overview

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

// uuidOf is the UUID of the VM of a name of one letter.
func uuidOf(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf("00000000-0000-0000-0000-0000000000%02x", name[0])
}

// aVM is a VM of a worker that runs, in region r and zone z.
func aVM(name string, change func(*api.VM)) api.Update {
	v := api.VM{
		Name: name, VCenter: "vc", Datacenter: "dc", Cluster: "c", Host: "esx-1", Path: "/dc/vm/" + name, MoRef: "vm-" + name, UUID: uuidOf(name),
		Power: "on", Connection: "connected", Tools: true, Process: "running", Role: "worker", Region: "r", Zone: "z",
	}
	if change != nil {
		change(&v)
	}
	return api.Update{VM: &v}
}

// aNode is that of a VM, as it should be.
func aNode(name, vm string, change func(*api.Node)) api.Update {
	n := api.Node{
		Name: name, VM: vm, VCenter: "vc", Datacenter: "dc", Registered: true, Ready: "True", Initialized: true, Region: "r", Zone: "z",
		ProviderID: "vsphere://" + uuidOf(vm),
	}
	if vm == "" {
		n.VCenter, n.Datacenter = "", ""
	}
	if change != nil {
		change(&n)
	}
	return api.Update{Node: &n}
}

func anHost(name, cluster string) api.Update {
	return api.Update{Host: &api.Host{Name: name, VCenter: "vc", Datacenter: "dc", Cluster: cluster, Connection: "connected", Power: "on"}}
}

// stateOf returns the state after its first updates.
func stateOf(updates ...api.Update) *fold.State {
	s := fold.New(tuitest.About(), 0)
	s.Apply(tuitest.Began, append(updates, api.Update{Synced: true})...)
	return s
}

// drawn writes a tree: an indented line for each group and each line, with what is derived.
func drawn(t *tree) string {
	var lines []string
	say := func(indent int, words ...string) {
		words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
		lines = append(lines, strings.Repeat("  ", indent)+strings.Join(words, " "))
	}
	var draw func(g *group)
	draw = func(g *group) {
		say(g.indent, g.label, ratio(g.sum.on, g.sum.vms)+" on", ratio(g.sum.ready, g.sum.nodes)+" Ready", counts(g.sum), g.trouble.String())
		for _, sub := range g.groups {
			draw(sub)
		}
		for _, l := range g.lines {
			words := []string{l.name()}
			if l.node != nil {
				words = append(words, "= "+l.node.Name)
			}
			for _, m := range l.trouble {
				words = append(words, m.String())
			}
			say(g.indent+1, words...)
		}
	}
	for _, g := range t.roots {
		draw(g)
	}
	return strings.Join(lines, "\n")
}

func TestTree(t *testing.T) {
	for _, tc := range []struct {
		name    string
		updates []api.Update
		want    string
	}{
		{"nothing", nil, ""},
		{"one", []api.Update{aVM("a", nil), aNode("a", "a", nil), anHost("esx-1", "c")}, `
r ▸ z ▸ vc/dc 1/1 on 1/1 Ready
  esx-1 1/1 on 1/1 Ready
    a = a`},
		{"no tags: no regions and zones", []api.Update{aVM("a", func(v *api.VM) { v.Region, v.Zone = "", "" })}, `
vc/dc 1/1 on 0/1 Ready
  esx-1 1/1 on 0/1 Ready
    a`},
		{"some without tags come last", []api.Update{
			aVM("a", nil), aVM("b", func(v *api.VM) { v.Region, v.Zone, v.Host = "", "", "esx-2" }), aVM("c", func(v *api.VM) { v.Zone, v.Host = "", "esx-3" }),
		}, `
r 2/2 on 0/2 Ready
  z ▸ vc/dc 1/1 on 0/1 Ready
    esx-1 1/1 on 0/1 Ready
      a
  no zone ▸ vc/dc 1/1 on 0/1 Ready
    esx-3 1/1 on 0/1 Ready
      c
no region ▸ no zone ▸ vc/dc 1/1 on 0/1 Ready
  esx-2 1/1 on 0/1 Ready
    b`},
		{"no node, and none wanted", []api.Update{aVM("a", func(v *api.VM) { v.Role, v.Process, v.Tools, v.Power = "", "", false, "off" })}, `
r ▸ z ▸ vc/dc 0/1 on 0/0 Ready
  esx-1 0/1 on 0/0 Ready
    a`},
		{"not registered", []api.Update{aVM("a", nil), aNode("a", "a", func(n *api.Node) { *n = api.Node{Name: "a", VM: "a", VCenter: "vc", Datacenter: "dc"} })}, `
r ▸ z ▸ vc/dc 1/1 on 0/1 Ready ◐1
  esx-1 1/1 on 0/1 Ready ◐1
    a = a`},
		{"no VM", []api.Update{aVM("a", nil), aNode("a", "a", nil), aNode("b", "", func(n *api.Node) { n.ProviderID = "" })}, `
r ▸ z ▸ vc/dc 1/1 on 1/1 Ready
  esx-1 1/1 on 1/1 Ready
    a = a
no VM 0/0 on 1/1 Ready ◐1
  b = b ✗ no VM has its UUID`},
		{"two nodes of one VM", []api.Update{aVM("a", nil), aNode("old", "a", nil), aNode("a", "a", nil)}, `
r ▸ z ▸ vc/dc 1/1 on 2/2 Ready
  esx-1 1/1 on 2/2 Ready
    a = a
    a = old`},
		{"one name in two folders", []api.Update{
			aVM("a", func(v *api.VM) { v.MoRef, v.UUID, v.Host = "vm-2", uuidOf("o"), "esx-2" }), aVM("a", nil), aNode("a", "a", nil),
		}, `
r ▸ z ▸ vc/dc 2/2 on 1/2 Ready
  esx-1 1/1 on 1/1 Ready
    a = a
  esx-2 1/1 on 0/1 Ready
    a`},
		{"one UUID twice", []api.Update{aVM("a", nil), aNode("a", "a", nil), aVM("b", func(v *api.VM) { v.UUID = uuidOf("a") }), aNode("b", "b", func(n *api.Node) { n.ProviderID = "vsphere://" + uuidOf("a") })}, `
r ▸ z ▸ vc/dc 2/2 on 2/2 Ready ◐2
  esx-1 2/2 on 2/2 Ready ◐2
    a = a
    b = b`},
		{"the guest hangs", []api.Update{aVM("a", func(v *api.VM) { v.Process, v.Tools = "hung", false }), aNode("a", "a", func(n *api.Node) { n.Ready = "Unknown" })}, `
r ▸ z ▸ vc/dc 1/1 on 0/1 Ready ✗1
  esx-1 1/1 on 0/1 Ready ✗1
    a = a ✗ guest hung ◐ no tools`},
		{"a host is lost", []api.Update{
			aVM("a", func(v *api.VM) { v.Connection = "disconnected" }), anHost("esx-1", "c"),
			{Host: &api.Host{Name: "esx-1", VCenter: "vc", Datacenter: "dc", Cluster: "c", Connection: "notResponding"}},
		}, `
r ▸ z ▸ vc/dc 1/1 on 0/1 Ready ✗2
  esx-1 1/1 on 0/1 Ready ✗2 ✗ host notResponding
    a ✗ VM disconnected`},
		{"hosts without VMs are where their cluster is", []api.Update{
			aVM("a", nil), aVM("b", func(v *api.VM) { v.Zone, v.Cluster, v.Host = "y", "d", "esx-2" }), anHost("esx-1", "c"), anHost("esx-3", "c"), anHost("esx-4", "e"),
		}, `
r 2/2 on 0/2 Ready
  y ▸ vc/dc 1/1 on 0/1 Ready
    esx-2 1/1 on 0/1 Ready
      b
  z ▸ vc/dc 1/1 on 0/1 Ready
    esx-1 1/1 on 0/1 Ready
      a
    esx-3 0/0 on 0/0 Ready
no region ▸ no zone ▸ vc/dc 0/0 on 0/0 Ready
  esx-4 0/0 on 0/0 Ready`},
		{"a vCenter is slow", []api.Update{aVM("a", nil), {VCenter: &api.VCenter{Name: "vc", Gate: "slow", Watched: true}}}, `
r ▸ z ▸ vc/dc 1/1 on 0/1 Ready ◐1 ◐ vCenter slow
  esx-1 1/1 on 0/1 Ready
    a`},
		{"a vCenter is not watched", []api.Update{aVM("a", nil), {VCenter: &api.VCenter{Name: "vc", Gate: "up"}}}, `
r ▸ z ▸ vc/dc 1/1 on 0/1 Ready ◐1 ? not watched: may be old
  esx-1 1/1 on 0/1 Ready
    a`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(strings.TrimSpace(tc.want), drawn(build(stateOf(tc.updates...), false))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A node that was deleted is seen for a moment, and then its VM is without one.
func TestGone(t *testing.T) {
	s := stateOf(aVM("a", nil), aNode("a", "a", nil), anHost("esx-1", "c"))
	u := aNode("a", "a", nil)
	u.Deleted = true
	s.Apply(tuitest.Began.Add(time.Second), u)
	tree := build(s, false)
	l := tree.roots[0].groups[0].lines[0]
	if !l.gone || l.node == nil || tree.sum.ready != 0 || tree.sum.nodes != 1 || len(l.trouble) != 1 || l.trouble[0].Word != "node deleted" {
		t.Errorf("right after: %+v, %+v", l, tree.sum)
	}
	if subject, _ := (item{line: l}).subject(); subject.Kind != "vm" {
		t.Errorf("it is about %v, which is no more", subject)
	}
	s.Tick(tuitest.Began.Add(time.Second + fold.Recent))
	if l := build(s, false).roots[0].groups[0].lines[0]; l.gone || l.node != nil {
		t.Errorf("later: %+v", l)
	}
}

// A finding that is for the moment only is no disagreement yet.
func TestSettling(t *testing.T) {
	s := stateOf(aVM("a", func(v *api.VM) { v.Power = "off" }), aNode("a", "a", nil))
	sum := build(s, false).sum
	if sum.settling == 0 || sum.findings != 0 {
		t.Errorf("at once: %+v", sum)
	}
	s.Tick(tuitest.Began.Add(time.Hour))
	if sum = build(s, false).sum; sum.settling != 0 || sum.findings == 0 {
		t.Errorf("an hour later: %+v", sum)
	}
}
