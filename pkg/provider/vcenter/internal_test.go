package vcenter

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"
)

func TestBackoff(t *testing.T) {
	b := Backoff{Min: 100 * time.Millisecond, Max: time.Second}
	for _, tc := range []struct {
		failures int
		most     time.Duration
	}{
		{1, 100 * time.Millisecond}, {2, 200 * time.Millisecond}, {4, 800 * time.Millisecond}, {5, time.Second}, {1000, time.Second},
	} {
		for range 100 {
			if d := b.pause(tc.failures); d > tc.most || d < tc.most/2 {
				t.Fatalf("pause after %d failures: %s, want within %s and %s", tc.failures, d, tc.most/2, tc.most)
			}
		}
	}
}

func TestWhole(t *testing.T) {
	w := &watch{spec: WatchSpec{Properties: map[string][]string{"VirtualMachine": {"name", "guest.net", "guest.hostName"}}}}
	for _, tc := range []struct {
		name  string
		want  []string
		exact bool
	}{
		{"guest.net", []string{"guest.net"}, true},
		{"guest.net[4000].ipAddress", []string{"guest.net"}, false},
		{"guest.net.x", []string{"guest.net"}, false},
		{"guest", []string{"guest.net", "guest.hostName"}, false},
		{"guest.network", nil, false},
	} {
		got, exact := w.affectedPaths(tc.name)
		if exact != tc.exact || !cmp.Equal(got, tc.want) {
			t.Errorf("%s: %v, exact %v; want %v, %v", tc.name, got, exact, tc.want, tc.exact)
		}
	}
}

// batches records updates.
type batches struct {
	list [][]Update
}

func (b *batches) Update(u []Update) { b.list = append(b.list, u) }
func (b *batches) Synced()           {}
func (b *batches) Lost(error)        {}

// Objects that disappeared while the watch was broken are delivered as Leave before the new Synced.
func TestForget(t *testing.T) {
	h := &batches{}
	w := &watch{handler: h, seen: map[types.ManagedObjectReference]int{}, round: 2}
	old, kept := types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-1"}, types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-2"}
	w.seen[old], w.seen[kept] = 1, 2
	w.reportLeft()
	w.reportLeft()
	want := [][]Update{{{Kind: Leave, Ref: old}}}
	if diff := cmp.Diff(want, h.list); diff != "" {
		t.Error(diff)
	}
}

// A removal is a nil value, even if the vCenter sends a value.
func TestDeliverRemoval(t *testing.T) {
	h := &batches{}
	w := &watch{
		handler: h, seen: map[types.ManagedObjectReference]int{},
		spec: WatchSpec{Properties: map[string][]string{"VirtualMachine": {"guest.hostName"}}},
	}
	ref := types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-1"}
	set := &types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{ObjectSet: []types.ObjectUpdate{{
		Kind: types.ObjectUpdateKindModify, Obj: ref,
		ChangeSet:  []types.PropertyChange{{Name: "guest.hostName", Op: types.PropertyChangeOpRemove, Val: "x"}},
		MissingSet: []types.MissingProperty{{Path: "name"}},
	}}}}}
	if err := w.deliver(t.Context(), nil, nil, set); err != nil {
		t.Fatal(err)
	}
	if len(h.list) != 1 || len(h.list[0]) != 1 {
		t.Fatalf("got %v", h.list)
	}
	u := h.list[0][0]
	if u.Changes[0].Val != nil || !slices.Equal(u.Missing, []string{"name"}) {
		t.Errorf("got %+v", u)
	}
}

// A property that is read again for a change, and is not visible at the moment, is missing and not unset.
func TestDeliverUnreadable(t *testing.T) {
	ref := types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-1"}
	missing := func(path string, fault types.BaseMethodFault) types.MissingProperty {
		return types.MissingProperty{Path: path, Fault: types.LocalizedMethodFault{Fault: fault}}
	}
	for _, tc := range []struct {
		name    string
		content []types.ObjectContent
		want    Update
	}{
		{
			"told",
			[]types.ObjectContent{{Obj: ref, PropSet: []types.DynamicProperty{{Name: "guest.net", Val: "x"}}}},
			Update{Changes: []types.PropertyChange{{Name: "guest.net", Op: types.PropertyChangeOpAssign, Val: "x"}}},
		},
		{
			"unset",
			[]types.ObjectContent{{Obj: ref}},
			Update{Changes: []types.PropertyChange{{Name: "guest.net", Op: types.PropertyChangeOpAssign}}},
		},
		{
			"an option that is not set",
			[]types.ObjectContent{{Obj: ref, MissingSet: []types.MissingProperty{missing("guest.net", &types.InvalidProperty{})}}},
			Update{Changes: []types.PropertyChange{{Name: "guest.net", Op: types.PropertyChangeOpAssign}}},
		},
		{
			"no permission",
			[]types.ObjectContent{{Obj: ref, MissingSet: []types.MissingProperty{missing("guest.net", &types.NoPermission{})}}},
			Update{Missing: []string{"guest.net"}},
		},
		{"not a word", nil, Update{Missing: []string{"guest.net"}}},
	} {
		var u Update
		u.take([]string{"guest.net"}, tc.content)
		if diff := cmp.Diff(tc.want, u); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
}
