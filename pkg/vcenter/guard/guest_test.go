package guard

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/journal"
)

// TestGuestsAsked reports which guests may still be about to end.
func TestGuestsAsked(t *testing.T) {
	type write struct{ kind, state, was string }
	for name, tc := range map[string]struct {
		writes []write
		want   []int
	}{
		"powered off by the host":               {writes: []write{{power, poweredOff, poweredOn}}},
		"asked":                                 {writes: []write{{askGuest, poweredOff, poweredOn}}, want: []int{1}},
		"asked twice":                           {writes: []write{{askGuest, poweredOff, poweredOn}, {askGuest, poweredOff, poweredOn}}, want: []int{2}},
		"seen to have ended":                    {writes: []write{{askGuest, poweredOff, poweredOn}, {power, poweredOn, poweredOff}}},
		"seen to have ended, and asked again":   {writes: []write{{askGuest, suspended, poweredOn}, {power, poweredOn, suspended}, {askGuest, poweredOff, poweredOn}}, want: []int{3}},
		"somebody was too early with the power": {writes: []write{{askGuest, poweredOff, poweredOn}, {power, poweredOn, poweredOn}}, want: []int{1}},
	} {
		var pending []journal.Entry
		for i, w := range tc.writes {
			pending = append(pending, journal.Entry{
				Seq: i + 1, VCenter: "vc", Ref: types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-1"},
				Do:   journal.Action{Kind: w.kind, With: map[string]string{to: w.state}},
				Undo: journal.Action{Kind: power, With: map[string]string{to: w.was}},
			})
		}
		slices.Reverse(pending)
		var got []int
		for _, seq := range guestsAsked(pending) {
			got = append(got, seq)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
