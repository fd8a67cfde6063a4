package world_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

func names(w *world.World, k world.Kind) []string {
	var all []string
	for _, row := range w.Rows(k) {
		all = append(all, row.Name)
	}
	return all
}

func TestApply(t *testing.T) {
	w := world.New()
	for _, u := range []api.Update{
		{VM: &api.VM{Name: "b", VCenter: "vc", MoRef: "vm-2"}},
		{VM: &api.VM{Name: "a", VCenter: "vc", MoRef: "vm-1"}},
		{Node: &api.Node{Name: "n"}},
		{Synced: true},
	} {
		w.Apply(u)
	}
	if diff := cmp.Diff([]string{"vc/a", "vc/b"}, names(w, world.VM)); diff != "" || !w.Synced() {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := w.Apply(api.Update{VM: &api.VM{Name: "c", VCenter: "vc", MoRef: "vm-1"}}); !slices.Equal(got, []world.Kind{world.VM}) {
		t.Errorf("a renamed VM changes %v", got)
	}
	w.Apply(api.Update{VM: &api.VM{Name: "b", VCenter: "vc", MoRef: "vm-2"}, Deleted: true})
	if got := w.Apply(api.Update{VM: &api.VM{Name: "b", VCenter: "vc", MoRef: "vm-2"}, Deleted: true}); got != nil {
		t.Errorf("deleted twice changes %v", got)
	}
	if diff := cmp.Diff([]string{"vc/c"}, names(w, world.VM)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A stream that begins again does not send rows that are gone.
func TestAgain(t *testing.T) {
	w := world.New()
	w.Apply(api.Update{Node: &api.Node{Name: "a"}})
	w.Apply(api.Update{Node: &api.Node{Name: "b"}})
	w.Apply(api.Update{Event: &event.Event{Seq: 7, Kind: "x"}})
	w.Resync()
	w.Apply(api.Update{Node: &api.Node{Name: "b"}})
	if got := w.Apply(api.Update{Event: &event.Event{Seq: 7, Kind: "x"}}); got != nil {
		t.Errorf("an event that is known changes %v", got)
	}
	if got := w.Apply(api.Update{Synced: true}); !slices.Equal(got, []world.Kind{world.Node}) {
		t.Errorf("changed: %v", got)
	}
	if diff := cmp.Diff([]string{"b"}, names(w, world.Node)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCauses(t *testing.T) {
	w := world.New()
	for seq, cause := range []uint64{0, 0, 1, 2, 0, 3} {
		if seq > 0 {
			w.Apply(api.Update{Event: &event.Event{Seq: uint64(seq), Cause: cause}})
		}
	}
	e, _ := w.Event(5)
	var chain []uint64
	for _, c := range w.Causes(e) {
		chain = append(chain, c.Seq)
	}
	if diff := cmp.Diff([]uint64{3, 2, 1}, chain); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !w.CausedBy(e, 1) || w.CausedBy(e, 4) {
		t.Error("who caused it")
	}
	if got := len(w.After(3)); got != 2 {
		t.Errorf("%d after the third", got)
	}
}

// Every kind has fields, each of which can be read of a row without anything in it.
func TestFields(t *testing.T) {
	empty := map[world.Kind]api.Update{
		world.Node: {Node: &api.Node{}}, world.VM: {VM: &api.VM{}}, world.Host: {Host: &api.Host{}}, world.VCenter: {VCenter: &api.VCenter{}},
		world.Component: {Component: &api.Component{}}, world.Lease: {Lease: &api.Lease{}}, world.Volume: {Volume: &api.Volume{}}, world.Attachment: {Attachment: &api.Attachment{}},
		world.Service: {Service: &api.Service{}}, world.VirtualMachine: {VirtualMachine: &api.VirtualMachine{}},
		world.VirtualMachineService: {VirtualMachineService: &api.VirtualMachineService{}},
	}
	for _, kind := range world.Kinds() {
		row, ok := world.RowOf(empty[kind])
		if !ok || len(kind.Fields()) == 0 {
			t.Fatalf("%s has no rows, or no fields", kind)
		}
		for _, f := range kind.Fields() {
			switch {
			case f.List:
				row.List(f)
			case f.Map:
				row.Map(f)
			default:
				row.Text(f)
			}
		}
		row.Names()
	}
}

// A volume goes by the names by which people know it: its claim's, with and without the namespace, its own, and CNS's id.
func TestVolumeNames(t *testing.T) {
	for _, c := range []struct {
		volume api.Volume
		name   string
		names  []string
	}{
		{api.Volume{Name: "pvc-1", Claim: "default/data", Handle: "fcd-1"}, "default/data", []string{"default/data", "data", "pvc-1", "fcd-1"}},
		{api.Volume{Name: "default/data", Claim: "default/data"}, "default/data", []string{"default/data", "data", "default/data"}},
		{api.Volume{Name: "pvc-1", Handle: "fcd-1"}, "pvc-1", []string{"pvc-1", "fcd-1"}},
	} {
		row, _ := world.RowOf(api.Update{Volume: &c.volume})
		if diff := cmp.Diff(c.names, row.Names()); diff != "" || row.Name != c.name || row.Key != c.volume.Name {
			t.Errorf("%+v: name %s, key %s (-want +got):\n%s", c.volume, row.Name, row.Key, diff)
		}
	}
}

// A volume that a scenario leaves behind is reported.
func TestSnapshotVolumes(t *testing.T) {
	w := world.New()
	before := w.Snapshot()
	w.Apply(api.Update{Volume: &api.Volume{Name: "pvc-1", Claim: "default/data", State: api.VolumeDetached}})
	if diff := cmp.Diff([]string{"volume default/data was not there"}, w.Snapshot().Since(before)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSnapshot(t *testing.T) {
	at := func(nodes ...api.Node) world.Snapshot {
		w := world.New()
		for _, n := range nodes {
			w.Apply(api.Update{Node: &n})
		}
		return w.Snapshot()
	}
	before := at(api.Node{Name: "a", Registered: true, Ready: "True"}, api.Node{Name: "b", Registered: true}, api.Node{Name: "c"})
	after := at(api.Node{Name: "a", Registered: true, Ready: "Unknown", Taints: []string{"x"}, Zone: "z"}, api.Node{Name: "c", Registered: true})
	want := []string{`node a: ready is "Unknown", was "True"; taints is "x", was ""`, "node b is gone", "node c was not there"}
	if diff := cmp.Diff(want, after.Since(before)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// What was not well yet is no trace when it is.
	if left := at(api.Node{Name: "a", Registered: true, Ready: "True", Initialized: true, Addresses: []string{"x"}}).Since(at(api.Node{Name: "a", Registered: true, Ready: "False"})); left != nil {
		t.Errorf("came up: %v", left)
	}
	if left := at(api.Node{Name: "a", Registered: true, Unschedulable: true}).Since(at(api.Node{Name: "a", Registered: true})); len(left) != 1 {
		t.Errorf("a cordon: %v", left)
	}
	with := func(state string) world.Snapshot {
		w := world.New()
		w.Apply(api.Update{Component: &api.Component{Name: "node/new", State: state}})
		return w.Snapshot()
	}
	if left := with("stopped").Since(world.Snapshot{}); left != nil {
		t.Errorf("the log of a component that has ended: %q", left)
	}
	if left := with("running").Since(world.Snapshot{}); len(left) != 1 {
		t.Errorf("a new component: %q", left)
	}
	if left := before.Since(before); left != nil {
		t.Errorf("nothing has changed: %v", left)
	}
}

// A row that changes keeps the order of rows, and a list that a caller holds does not change.
func TestRowsStayInOrder(t *testing.T) {
	w := world.New()
	for i := range 40 {
		w.Apply(api.Update{Node: &api.Node{Name: fmt.Sprintf("n%02d", i)}})
	}
	before := w.Rows(world.Node)
	for round := range 30 { // some change again, some go, some come
		name := fmt.Sprintf("n%02d", round)
		w.Apply(api.Update{Node: &api.Node{Name: name, Ready: "True"}})
		w.Apply(api.Update{Node: &api.Node{Name: "n39", Version: name}})
		switch round % 10 {
		case 3:
			w.Apply(api.Update{Node: &api.Node{Name: name}, Deleted: true})
		case 4:
			w.Apply(api.Update{Node: &api.Node{Name: name + "-too"}})
		}
		rows := w.Rows(world.Node)
		if !slices.IsSortedFunc(rows, func(a, b world.Row) int { return strings.Compare(a.Name, b.Name) }) {
			t.Fatalf("round %d: %v", round, names(w, world.Node))
		}
		for _, row := range rows {
			is, ok := w.Row(world.Node, row.Key)
			if diff := cmp.Diff(is.Value, row.Value); !ok || diff != "" {
				t.Fatalf("round %d: %s is listed as it was:\n%s", round, row.Key, diff)
			}
		}
	}
	if n := before[5].Value.(api.Node); n.Ready != "" || len(before) != 40 {
		t.Errorf("a list that was given changed: %+v", n)
	}
	if _, ok := w.Row(world.Node, "n03"); ok {
		t.Error("n03 is still there")
	}
}

func TestKeep(t *testing.T) {
	w := world.New()
	report := func(from, to uint64) {
		for seq := from; seq <= to; seq++ {
			w.Apply(api.Update{Event: &event.Event{Seq: seq, Kind: "x", Cause: seq - 1}})
		}
	}
	report(1, 10)
	all := w.Events()
	w.Keep(4)
	report(11, 1000)
	seqs := func(events []event.Event) (all []uint64) {
		for _, e := range events {
			all = append(all, e.Seq)
		}
		return all
	}
	if diff := cmp.Diff([]uint64{997, 998, 999, 1000}, seqs(w.Events())); diff != "" {
		t.Error(diff)
	}
	if got := w.After(998); len(got) != 2 || w.LastEvent() != 1000 || w.Lost() != 0 {
		t.Errorf("after 998: %v, last %d, %d lost", seqs(got), w.LastEvent(), w.Lost())
	}
	e, _ := w.Event(1000)
	if got := w.Causes(e); len(got) != 3 { // the one before is not known any more
		t.Errorf("causes: %v", seqs(got))
	}
	if _, ok := w.Event(996); ok {
		t.Error("996 is still there")
	}
	if diff := cmp.Diff([]uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, seqs(all)); diff != "" {
		t.Errorf("a list that was given changed: %s", diff)
	}
	if got := cap(w.Events()); got > 100 {
		t.Errorf("room for %d events", got)
	}
}
