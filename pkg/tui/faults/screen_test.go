package faults

import (
	"strings"
	"testing"
	"time"

	"charm.land/bubbles/v2/key"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

// screen is one that shows a state, and knows some kinds.
func screen(t testing.TB, s *fold.State) *Screen {
	p := New()
	p.SetSize(100, 27)
	p.SetKinds(kinds(t))
	p.SetState(s)
	return p
}

func TestScreen(t *testing.T) {
	p := screen(t, broken())
	golden(t, "leases", p)
	tuitest.Press(p.Handle, "]", "j", "j")
	golden(t, "catalogue", p)
	fills(t, p)
}

// TestNothingToShow: a recording has no catalogue.
func TestNothingToShow(t *testing.T) {
	p := New()
	p.SetSize(80, 21)
	p.SetState(tuitest.At(5 * time.Second))
	tuitest.Golden(t, "nothing-80x21", p.View())
	fills(t, p)
	fills(t, New())
}

func TestKeys(t *testing.T) {
	heal := func(id string) intent.Intent {
		return intent.Heal{HealRequest: api.HealRequest{IDs: []string{id}}}
	}
	tests := []struct {
		name, keys string
		want       intent.Intent
	}{
		{"the cursor is where one heals", "x", heal("f2")},
		{"down, and heal", "j x", heal("f3")},
		{"down and up", "down j up k x", heal("f2")},
		{"the last is healed already", "G x", intent.Say{Text: "f5 is healed already"}},
		{"the first", "end home x", heal("f2")},
		{"a page on", "pgdown pgup g x", heal("f2")},
		{"half pages are pages", "ctrl+d ctrl+u g x", heal("f2")},
		{"all", "X", intent.Heal{HealRequest: api.HealRequest{All: true}}},
		{"all, from the catalogue", "] X", intent.Heal{HealRequest: api.HealRequest{All: true}}},
		{"nothing unseen is healed", "] x", intent.Say{Text: "choose what to heal: ] goes there, X heals all"}},
		{"there and back", "space [ x", heal("f2")},
		{"the chain of a lease", "enter", intent.Chain{Seq: 3}},
		{"a lease that has no event yet", "G k enter", intent.Say{Text: "f4 has no event yet"}},
		{"the form of a fault", "] enter", intent.Fill{Kind: "vm.clone-same-uuid"}},
		{"of another", "] j j enter", intent.Fill{Kind: "vm.destroy"}},
		{"over a heading", "] pgdown g G enter", intent.Fill{Kind: "node.tainted"}},
		{"scrolled", "] J J K enter", intent.Fill{Kind: "vm.clone-same-uuid"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := tuitest.Press(screen(t, broken()).Handle, strings.Fields(tt.keys)...)
			if d := cmp.Diff(tt.want, got); d != "" || !ok {
				t.Errorf("taken: %t (-want +got):\n%s", ok, d)
			}
		})
	}
}

func TestKeysOfOthers(t *testing.T) {
	p := screen(t, broken())
	for _, k := range []string{"?", ":", "/", "1", "6", "tab", "shift+tab", "esc", "q", "ctrl+c", "ctrl+r", "l", "w", "y", "p", "f", "o"} {
		if _, ok := tuitest.Press(p.Handle, k); ok {
			t.Errorf("%s is taken", k)
		}
	}
}

func TestNothingToDo(t *testing.T) {
	p := New()
	p.SetSize(80, 21)
	p.SetState(tuitest.At(0))
	for keys, want := range map[string]intent.Intent{
		"x": intent.Say{Text: "no active faults"}, "X": intent.Say{Text: "no active faults"}, "enter": nil, "] enter": nil,
	} {
		if got, ok := tuitest.Press(p.Handle, strings.Fields(keys)...); got != want || !ok {
			t.Errorf("%s: %v, taken %t", keys, got, ok)
		}
	}
	for _, b := range p.Bindings() {
		if b.Enabled() && b.Help().Key != "]/space" {
			t.Errorf("%s is offered", b.Help().Key)
		}
	}
}

// What is offered does something, and what does something is offered.
func TestBindings(t *testing.T) {
	for name, keys := range map[string][]string{"lease": nil, "healed lease": {"G"}, "kind": {"]"}} {
		p := screen(t, broken())
		tuitest.Press(p.Handle, append([]string{"J", "K"}, keys...)...)
		on := map[string]bool{}
		for _, b := range p.Bindings() {
			for _, k := range b.Keys() {
				on[k] = b.Enabled()
				if _, taken := tuitest.Press(screen(t, broken()).Handle, k); !taken {
					t.Errorf("%s: %s is bound and not taken", name, k)
				}
			}
		}
		if want := name == "lease"; on["x"] != want || !on["X"] || !on["enter"] {
			t.Errorf("%s: %v", name, on)
		}
	}
	if k := New().Bindings(); !key.Matches(tuitest.Key("]"), k[0]) {
		t.Error("] is not the first hint")
	}
}

func TestSubject(t *testing.T) {
	p := screen(t, broken())
	for _, tt := range []struct {
		key  string
		want api.Subject
	}{
		{"g", api.Subject{Kind: "host", VCenter: "us", Name: "esx-west-1"}},
		{"j", api.Subject{}}, // two targets
		{"j", api.Subject{Kind: "vm", VCenter: "eu", Name: "worker-eu-1"}},
		{"]", api.Subject{}},
	} {
		tuitest.Press(p.Handle, tt.key)
		if got, ok := p.Subject(); got != tt.want || ok != (tt.want.Name != "") {
			t.Errorf("after %s: %v, %t", tt.key, got, ok)
		}
	}
}

// The part with the cursor is chosen by what there is, until a person chooses.
func TestCursorGoesWhereItIsNeeded(t *testing.T) {
	s := tuitest.At(18 * time.Second)
	p := screen(t, s)
	if p.at != catalogue {
		t.Error("no active faults, and the cursor is not in the catalogue")
	}
	tuitest.To(s, 18*time.Second, 22*time.Second)
	p.SetState(s)
	if p.at != inForce {
		t.Error("something is broken, and the cursor is not there")
	}
	tuitest.To(s, 22*time.Second, 50*time.Second)
	p.SetState(s)
	if p.at != inForce {
		t.Error("it is healed, and the cursor went elsewhere under the hands")
	}
	tuitest.Press(p.Handle, "]", "j")
	tuitest.To(s, 50*time.Second, 72*time.Second)
	p.SetState(s)
	if p.at != catalogue || p.kind().Name != "vm.crash-loop" {
		t.Error("the cursor was taken away from a person")
	}
}

// TestCountdown: time passes without updates.
func TestCountdown(t *testing.T) {
	s := tuitest.At(22 * time.Second)
	p := screen(t, s)
	for _, want := range []string{"in 23s", "in 22s", "in 1s", "now"} {
		if !strings.Contains(ansi.Strip(p.View()), want) {
			t.Errorf("%s is not shown at %v", want, s.Now())
		}
		switch want {
		case "in 23s":
			s.Tick(tuitest.Began.Add(23 * time.Second))
		case "in 22s":
			s.Tick(tuitest.Began.Add(44*time.Second + 300*time.Millisecond))
		case "in 1s":
			s.Tick(tuitest.Began.Add(46 * time.Second))
		}
		p.SetState(s)
	}
}

func TestFilter(t *testing.T) {
	p := screen(t, broken())
	p.SetFilter("VM power")
	view := ansi.Strip(p.View())
	for _, want := range []string{"3 of 41 faults", "vm.power-off", "worker-west-1"} { // vm.destroy powers off, clone-same-uuid has a parameter power
		if !strings.Contains(view, want) {
			t.Errorf("no %q:\n%s", want, view)
		}
	}
	for _, not := range []string{"host.maintenance", "vm.suspend", "esx-west-1"} {
		if strings.Contains(view, not) {
			t.Errorf("%q is there:\n%s", not, view)
		}
	}
	p.SetFilter("no such thing")
	view = ansi.Strip(p.View())
	if !strings.Contains(view, "no lease matches the filter") || !strings.Contains(view, "no fault matches the filter") {
		t.Errorf("it is empty without a word:\n%s", view)
	}
	fills(t, p)
	p.SetFilter("")
	if !strings.Contains(ansi.Strip(p.View()), "41 faults") {
		t.Error("the filter is not taken away")
	}
}

func TestMouse(t *testing.T) {
	p := screen(t, broken())
	if _, ok := p.Click(5, 3); !ok || p.lease().ID != "f3" {
		t.Errorf("the lease that is clicked on is not selected, but %s", p.lease().ID)
	}
	p.Wheel(1)
	if p.lease().ID != "f6" {
		t.Error("the wheel does not move")
	}
	y := p.place.force + 2 // title, header, and then the first theme
	p.Click(5, y+1)
	if p.at != catalogue || p.kind().Name != "vm.clone-same-uuid" {
		t.Error("the kind that is clicked on is not selected")
	}
	p.Click(5, y)     // a heading
	p.Click(80, y+10) // its description
	if p.kind().Name != "vm.clone-same-uuid" {
		t.Error("a click beside the list moves in it")
	}
	if _, ok := p.Click(0, 99); ok {
		t.Error("a click elsewhere is taken")
	}
}

func BenchmarkScreen(b *testing.B) {
	s := tuitest.Big(1000)
	p := screen(b, s)
	p.SetSize(200, 57)
	lease := api.Lease{
		ID: "f1", Fault: "vm.power-off", State: "active", Since: s.Now(), Seq: 1,
		Targets: []api.LeaseTarget{{Kind: "VM", VCenter: "us", Name: "worker-west-0001", Does: "powers it off", State: "active"}},
	}
	for i := range 1000 {
		lease.ID = "f" + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/26/26))
		s.Apply(s.Now(), api.Update{Lease: &lease})
	}
	for b.Loop() {
		s.Apply(s.Now(), api.Update{Lease: &lease})
		p.SetState(s)
		_ = p.View()
	}
}
