package vcenter

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// script is a vCenter that answers polls with one update set after another, then with an error.
type script struct {
	sets  []*types.UpdateSet
	asked []string // "version maxWait" of each poll
}

var errScript = errors.New("the script is over")

func (s *script) RoundTrip(_ context.Context, req, res soap.HasFault) error {
	poll := req.(*methods.WaitForUpdatesExBody).Req
	s.asked = append(s.asked, fmt.Sprintf("%q %d", poll.Version, *poll.Options.MaxWaitSeconds))
	if len(s.sets) == 0 {
		return errScript
	}
	res.(*methods.WaitForUpdatesExBody).Res = &types.WaitForUpdatesExResponse{Returnval: s.sets[0]}
	s.sets = s.sets[1:]
	return nil
}

// history records the handler's calls.
type history struct{ reported []string }

func (h *history) Update(batch []Update) {
	for _, u := range batch {
		h.reported = append(h.reported, string(u.Kind)+" "+u.Ref.Value)
	}
}
func (h *history) Synced()    { h.reported = append(h.reported, "synced") }
func (h *history) Lost(error) { h.reported = append(h.reported, "lost") }

// A watch is in sync after the vCenter has delivered the last of its objects, not before; only then are missing objects reported as
// left.
func TestFollowTruncated(t *testing.T) {
	cfg, err := Config{
		Server: "vc", UserAgent: "test", MaxWait: 7 * time.Second,
		Credentials: func(context.Context) (Credentials, error) { return Credentials{}, nil },
	}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	set := func(version string, truncated *bool, kind Kind, name string) *types.UpdateSet {
		return &types.UpdateSet{Version: version, Truncated: truncated, FilterSet: []types.PropertyFilterUpdate{{
			ObjectSet: []types.ObjectUpdate{{
				Kind: types.ObjectUpdateKind(kind), Obj: types.ManagedObjectReference{Type: "VirtualMachine", Value: name},
			}},
		}}}
	}
	old := types.ManagedObjectReference{Type: "VirtualMachine", Value: "old"}
	for _, tc := range []struct {
		name            string
		sets            []*types.UpdateSet
		reported, asked []string
	}{
		{
			"cut off before the end",
			[]*types.UpdateSet{set("1", new(true), Enter, "a")},
			[]string{"enter a"},
			[]string{`"" 0`, `"1" 0`},
		},
		{
			"in three parts",
			[]*types.UpdateSet{
				set("1", new(true), Enter, "a"), set("2", new(true), Enter, "b"), set("3", nil, Enter, "c"),
				nil, set("4", new(true), Leave, "a"), set("5", new(false), Leave, "b"),
			},
			[]string{"enter a", "enter b", "enter c", "leave old", "synced", "leave a", "leave b"},
			[]string{`"" 0`, `"1" 0`, `"2" 0`, `"3" 7`, `"3" 7`, `"4" 7`, `"5" 7`},
		},
		{
			"told again",
			[]*types.UpdateSet{set("1", nil, Enter, "old")},
			[]string{"enter old", "synced"},
			[]string{`"" 0`, `"1" 7`},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			vc, h := &script{sets: tc.sets}, &history{}
			w := &watch{
				client: &Client{cfg: cfg}, handler: h, round: 2, seen: map[types.ManagedObjectReference]int{old: 1},
				spec: WatchSpec{Properties: map[string][]string{"VirtualMachine": {"name"}}},
			}
			vim := &vim25.Client{RoundTripper: vc}
			if err := w.follow(t.Context(), newSession(&cfg, Credentials{}, vim), property.DefaultCollector(vim)); !errors.Is(err, errScript) {
				t.Error(err)
			}
			if diff := cmp.Diff(tc.reported, h.reported); diff != "" {
				t.Errorf("told: %s", diff)
			}
			if diff := cmp.Diff(tc.asked, vc.asked); diff != "" {
				t.Errorf("asked: %s", diff)
			}
		})
	}
}
