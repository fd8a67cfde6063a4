package intent_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
)

// What would change a real VM comes back as a question, which is the same action confirmed; what a fault has drawn stays drawn.
func TestUnconfirmed(t *testing.T) {
	asks := &api.Error{Code: "unconfirmed", Message: "m", Seed: 7}
	no := &api.Error{Code: "refused", Message: "read-only"}
	off := func(n string) intent.Named { return vm("power-off", n) }
	for _, tc := range []struct {
		action intent.Action
		refuse map[string]error
		said   string
		danger string
		line   string
		rest   error
	}{
		{action: off("a"), refuse: map[string]error{"a": asks}, danger: "m. Do it?", line: "x vm power-off a --yes"},
		{
			action: intent.Volume{VolumeRequest: api.VolumeRequest{Action: "detach", Volume: "v"}}, refuse: map[string]error{"v": asks},
			danger: "m. Do it?", line: "x volume detach v --yes",
		},
		{action: inject("vm.suspend", "1"), refuse: map[string]error{"vm.suspend": asks}, danger: "m. Do it?", line: "x fault inject vm.suspend --mode 1 --seed 7 --yes"},
		{
			action: intent.Each([]string{"a", "b", "c", "d"}, off), refuse: map[string]error{"b": asks, "c": no, "d": asks},
			said: "done to a", danger: "m. m. Do it?", line: "x vm power-off b d --yes", rest: no,
		},
		{action: intent.Each([]string{"a", "b"}, off), refuse: map[string]error{"b": asks}, said: "done to a", danger: "m. Do it?", line: "x vm power-off b --yes"},
	} {
		s := &sandbox{refuse: tc.refuse}
		said, err := tc.action.Do(t.Context(), s)
		var u *intent.Unconfirmed
		if !errors.As(err, &u) {
			t.Fatalf("%s: %v", tc.line, err)
		}
		if _, several := tc.action.(intent.Several); several && said != tc.said || u.Ask.Danger() != tc.danger || !errors.Is(u.Rest, tc.rest) {
			t.Errorf("said %q, asks %q, rest %v", said, u.Ask.Danger(), u.Rest)
		}
		if got := intent.Line(u.Ask, "x", ""); got != tc.line {
			t.Errorf("%s, want %s", got, tc.line)
		}
		again := &sandbox{}
		if _, err := u.Ask.Do(t.Context(), again); err != nil {
			t.Error(err)
		}
		for _, r := range again.asked {
			switch r := r.(type) {
			case api.VMRequest:
				if !r.Confirmed {
					t.Errorf("%+v", r)
				}
			case api.VolumeRequest:
				if !r.Confirmed {
					t.Errorf("%+v", r)
				}
			case api.InjectRequest:
				want := tc.action.(intent.Inject).InjectRequest
				want.Confirmed, want.Seed = true, 7
				if d := cmp.Diff(want, r); d != "" {
					t.Error(d)
				}
			}
		}
		if len(again.asked) == 0 {
			t.Errorf("%s: nothing was done", tc.line)
		}
	}
}
