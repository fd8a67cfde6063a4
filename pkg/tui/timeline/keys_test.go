package timeline

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

// many is a log of n events.
func many(n int) []event.Event {
	events := make([]event.Event, n)
	for i := range events {
		events[i].Seq = uint64(i + 1)
	}
	return events
}

func TestMoves(t *testing.T) {
	s := screen(80, 14, log(many(100)...)) // 12 rows
	for _, step := range []struct {
		keys string
		want string
	}{
		{"", "thing.100"},
		{"k", "thing.99"},
		{"up up", "thing.97"},
		{"j", "thing.98"},
		{"down", "thing.99"},
		{"pgup", "thing.87"},
		{"ctrl+u", "thing.81"},
		{"ctrl+d pgdown", "thing.99"},
		{"g", "thing.1"},
		{"home k", "thing.1"},
		{"end", "thing.100"},
		{"g G", "thing.100"},
	} {
		for k := range strings.FieldsSeq(step.keys) {
			if i, ok := tuitest.Press(s.Handle, k); !ok || i != nil {
				t.Errorf("%s: %v, %t", k, i, ok)
			}
		}
		if got := kind(t, s); got != step.want {
			t.Errorf("%q: %s, want %s", step.keys, got, step.want)
		}
	}
	for _, k := range []string{"?", ":", "/", "1", "tab", "esc", "q", "l", "w", "y", "p", "f", "o", "P", "<", ">", "{", "}"} {
		if _, ok := tuitest.Press(s.Handle, k); ok {
			t.Errorf("%s is the root model's", k)
		}
	}
}

func TestFollows(t *testing.T) {
	s := screen(80, 21, log(many(50)...))
	next := uint64(50)
	more := func(n int) {
		for range n {
			next++
			report(s.state, event.Event{Seq: next})
		}
		s.SetState(s.state)
	}
	check := func(when, want, said string) {
		t.Helper()
		if got := kind(t, s); got != want {
			t.Errorf("%s: %s is selected, want %s", when, got, want)
		}
		if got := title(s); !strings.HasPrefix(got, said) {
			t.Errorf("%s: title %q, want %q", when, got, said)
		}
	}
	more(3)
	check("at first", "thing.53", "● following")
	tuitest.Press(s.Handle, "k")
	more(12)
	check("moved up", "thing.52", "○ paused, 12 new")
	tuitest.Press(s.Handle, "G")
	more(1)
	check("G", "thing.66", "● following")
	tuitest.Press(s.Handle, "t")
	check("t", "thing.66", "○ paused  ")
	more(1)
	check("t", "thing.66", "○ paused, 1 new")
	tuitest.Press(s.Handle, "t")
	check("t again", "thing.67", "● following")
	tuitest.Press(s.Handle, "t")
	more(2)
	tuitest.Press(s.Handle, "j", "j")
	check("down to the end", "thing.69", "○ paused, 2 new")
	tuitest.Press(s.Handle, "j")
	check("further", "thing.69", "● following")
	tuitest.Press(s.Handle, "k")
	s.SetFilter("kind:thing.1*")
	more(100)
	check("filtered, to the nearest", "thing.19", "○ paused, 70 new")
	s.SetFilter("")
	check("not any more", "thing.19", "○ paused  ")
}

func TestFilterIsShown(t *testing.T) {
	s := screen(100, 27, log(many(50)...))
	s.SetFilter("thing.1")
	if got := title(s); got != "● following  50 events, 11 rows match thing.1" {
		t.Errorf("%q", got)
	}
	s.SetFilter("nobody")
	if got := seen(s); len(got) != 1 || got[0] != "nothing matches nobody" {
		t.Errorf("%q", got)
	}
}

func TestSpaceFiltersByObject(t *testing.T) {
	s := screen(80, 21, log(
		event.Event{Seq: 1, Object: event.Object{Kind: "VolumeAttachment", Name: "pvc-1 at worker-1"}},
		event.Event{Seq: 2},
		event.Event{Seq: 3, Cause: 1, Object: event.Object{Kind: "VM", VCenter: "us", Name: "worker-1"}},
	))
	press := func() intent.Filter {
		t.Helper()
		i, _ := tuitest.Press(s.Handle, "space")
		f, ok := i.(intent.Filter)
		if !ok {
			t.Fatalf("%+v", i)
		}
		s.SetFilter(f.Text)
		return f
	}
	if f := press(); f.Text != "object:worker-1" || len(s.shown.rows) != 2 {
		t.Errorf("%q: %d rows", f.Text, len(s.shown.rows))
	}
	if f := press(); f.Text != "" || len(s.shown.rows) != 3 {
		t.Errorf("%q: %d rows", f.Text, len(s.shown.rows))
	}
	tuitest.Press(s.Handle, "g")
	if f := press(); f.Text != `object:"pvc-1 at worker-1"` || len(s.shown.rows) != 1 {
		t.Errorf("%q: %d rows", f.Text, len(s.shown.rows))
	}
	press()
	tuitest.Press(s.Handle, "g", "j")
	if i, _ := tuitest.Press(s.Handle, "space"); i != (intent.Say{Text: "the row is not about an object", Bad: true}) {
		t.Errorf("%+v", i)
	}
	tuitest.Press(s.Handle, "G", "enter")
	if f := press(); f.Text != "object:worker-1" || s.chain != nil {
		t.Errorf("in a chain: %q, %v", f.Text, s.chain)
	}
}

func TestFaults(t *testing.T) {
	s := story(90)
	var got []string
	for _, k := range []string{"i", "i", "i", "I", "I", "i"} {
		i, ok := tuitest.Press(s.Handle, k)
		if !ok {
			t.Errorf("%s is not taken", k)
		}
		e, _ := s.event()
		got = append(got, fmt.Sprintf("%s %s %s %v", k, e.Kind, e.Object.Name, i))
	}
	if d := cmp.Diff([]string{
		"i fault.injected eu <nil>", "i fault.injected worker-west-1 <nil>",
		"i fault.injected worker-west-1 {no injected fault above true}",
		"I fault.injected eu <nil>", "I fault.injected eu {no injected fault below true}", "i fault.injected worker-west-1 <nil>",
	}, got); d != "" {
		t.Error(d)
	}
	if !s.paused {
		t.Error("it still follows")
	}
	s.SetFilter("object:eu")
	tuitest.Press(s.Handle, "g")
	tuitest.Press(s.Handle, "I")
	if e, _ := s.event(); e.Object.Name != "eu" || e.Kind != "fault.injected" {
		t.Errorf("filtered: %s %s", e.Kind, e.Object.Name)
	}
	if i, _ := tuitest.Press(s.Handle, "i"); i == nil {
		t.Error("a fault that the filter hides was gone to")
	}
}

func TestMouse(t *testing.T) {
	s := screen(80, 21, log(many(50)...)) // 15 rows from line 2 on
	if i, ok := s.Click(5, 4); i != nil || !ok || kind(t, s) != "thing.38" || !s.paused {
		t.Errorf("%v, %t: %s", i, ok, kind(t, s))
	}
	s.Wheel(3)
	if kind(t, s) != "thing.41" {
		t.Error(kind(t, s))
	}
	s.Wheel(-3)
	if s.Click(5, 4); s.chain == nil {
		t.Error("a second click shows no chain")
	}
	s.Click(0, 10) // nothing is there
	if s.Click(0, 2); s.chain != nil {
		t.Error("a click on the event in its chain does not lead back")
	}
	if s.Click(0, 0); s.paused {
		t.Error("a click on the title does not follow")
	}
	for _, y := range []int{-1, 17, 40} {
		if _, ok := s.Click(0, y); ok {
			t.Errorf("line %d was clicked", y)
		}
	}
	if _, ok := s.Click(0, 1); !ok {
		t.Error("the header is not part of it")
	}
	New().Wheel(1) // without a state
}

// What the help says is what keys do: all that are enabled are taken.
func TestBindings(t *testing.T) {
	s := story(40)
	for _, prepare := range []string{"", "i", "enter", "esc", "t", "b"} {
		if prepare != "" {
			tuitest.Press(s.Handle, prepare)
		}
		for _, b := range s.Bindings() {
			if !b.Enabled() {
				continue
			}
			if h := b.Help(); h.Key == "" || h.Desc == "" {
				t.Errorf("%v has no help", b.Keys())
			}
			for _, k := range b.Keys() {
				copied := *s
				if s.chain != nil {
					chain := *s.chain
					copied.chain = &chain
				}
				if _, ok := tuitest.Press(copied.Handle, k); !ok {
					t.Errorf("after %q: %s is not taken", prepare, k)
				}
			}
		}
	}
	for _, b := range screen(80, 21, tuitest.At(-time.Second)).Bindings() {
		if b.Enabled() && b.Help().Key != "t" && b.Help().Key != "b" {
			t.Errorf("%s is enabled where there is nothing", b.Help().Key)
		}
	}
}
