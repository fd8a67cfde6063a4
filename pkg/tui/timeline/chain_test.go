package timeline

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

// tree draws a chain without its columns.
func tree(s *Screen) []string {
	var all []string
	for i, l := range s.chain.links {
		e, _ := s.state.World().Event(l.seq)
		all = append(all, s.chain.branches(i, 40)+e.Kind)
	}
	return all
}

func TestChain(t *testing.T) {
	s := screen(80, 21, log(
		event.Event{Seq: 1}, event.Event{Seq: 2, Cause: 1}, event.Event{Seq: 3}, event.Event{Seq: 4, Cause: 1}, event.Event{Seq: 5, Cause: 2},
		event.Event{Seq: 6, Cause: 4}, event.Event{Seq: 7, Cause: 3}, event.Event{Seq: 8, Cause: 5}, event.Event{Seq: 9, Cause: 9},
	))
	want := []string{"thing.1", "├ thing.2", "│ └ thing.5", "│   └ thing.8", "└ thing.4", "  └ thing.6"}
	for _, seq := range []uint64{1, 2, 5, 6, 8} {
		if !s.ShowChain(seq) {
			t.Fatalf("%d has no chain", seq)
		}
		if d := cmp.Diff(want, tree(s)); d != "" {
			t.Errorf("%d: %s", seq, d)
		}
		if e, _ := s.event(); e.Seq != seq {
			t.Errorf("%d: %d is selected", seq, e.Seq)
		}
	}
	if got := title(s); got != "chain  thing.1 #1 → 5 effects, +7.00s to thing.8 #8" {
		t.Errorf("%q", got)
	}
	if s.ShowChain(9); title(s) != "chain  thing.9 #9 has had no effects  its cause #9 is not kept" {
		t.Errorf("%q", title(s))
	}
	if s.ShowChain(3); title(s) != "chain  thing.3 #3 → 1 effect, +4.00s to thing.7 #7" {
		t.Errorf("%q", title(s))
	}
	if s.ShowChain(10) || s.chain.root != 3 {
		t.Error("the chain of an event that there is not")
	}
}

// A chain grows with what comes of it, and the selection stays.
func TestChainGrows(t *testing.T) {
	s := screen(80, 21, log(event.Event{Seq: 1}, event.Event{Seq: 2, Cause: 1}, event.Event{Seq: 3, Cause: 1}))
	s.ShowChain(3)
	report(s.state, event.Event{Seq: 4}, event.Event{Seq: 5, Cause: 2})
	s.SetState(s.state)
	if d := cmp.Diff([]string{"thing.1", "├ thing.2", "│ └ thing.5", "└ thing.3"}, tree(s)); d != "" {
		t.Error(d)
	}
	if kind(t, s) != "thing.3" {
		t.Errorf("%s is selected", kind(t, s))
	}
}

func TestDeepChain(t *testing.T) {
	var events []event.Event
	for seq := uint64(1); seq <= 300; seq++ {
		events = append(events, event.Event{Seq: seq, Cause: seq - 1, Time: tuitest.Began.Add(time.Duration(seq) * time.Millisecond)})
	}
	s := screen(80, 21, log(events...))
	s.ShowChain(300)
	if s.chain.root != 1 || len(s.chain.links) != 300 {
		t.Fatalf("root %d, %d links", s.chain.root, len(s.chain.links))
	}
	tuitest.Fills(t, s.View(), 80, 21)
	rows := seen(s)
	if last := rows[len(rows)-1]; !strings.Contains(last, "… ") || !strings.Contains(last, "thing.300") {
		t.Errorf("%q", last)
	}
}

func TestChainKeys(t *testing.T) {
	s := screen(80, 21, log(many(5)...))
	report(s.state, event.Event{Seq: 6, Cause: 2}, event.Event{Seq: 7, Cause: 6}, event.Event{Seq: 8})
	s.SetState(s.state)
	var got []string
	for _, k := range []string{
		"k", "enter", // the chain of 7
		"k", "k", "k", "G", "t", "esc", // and back where it was
		"c", "g", "c", // c is there and back
		"c", "g", "enter", // the event in the log
	} {
		_, ok := tuitest.Press(s.Handle, k)
		got = append(got, fmt.Sprintf("%s %t %s %t", k, ok, kind(t, s), s.chain != nil))
	}
	if d := cmp.Diff([]string{
		"k true thing.7 false", "enter true thing.7 true",
		"k true thing.6 true", "k true thing.2 true", "k true thing.2 true", "G true thing.7 true", "t false thing.7 true", "esc true thing.7 false",
		"c true thing.7 true", "g true thing.2 true", "c true thing.7 false",
		"c true thing.7 true", "g true thing.2 true", "enter true thing.2 false",
	}, got); d != "" {
		t.Error(d)
	}
	if !s.paused {
		t.Error("it follows, and will leave the event that was looked for")
	}
}
