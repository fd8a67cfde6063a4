package fold_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

func TestVersions(t *testing.T) {
	s := lab(api.Update{Node: &api.Node{Name: "n"}})
	moves(t, s, func() { after(s, time.Second, api.Update{Node: &api.Node{Name: "n"}}) }, world.Node)
	moves(t, s, func() { after(s, time.Second, api.Update{Event: &event.Event{Seq: 1}}) }, world.Event)
	moves(t, s, func() { after(s, time.Second, api.Update{Event: &event.Event{Seq: 1}}) }) // again
	moves(t, s, func() { after(s, time.Second, api.Update{Run: &api.Run{Name: "r"}}) }, fold.Run)
	moves(t, s, func() { tick(s, time.Hour) })
	moves(t, s, func() { tick(s, time.Minute) }) // not back
	if !s.Now().Equal(began.Add(time.Hour)) || s.Run().Name != "r" {
		t.Errorf("it is %s, runs %+v", s.Now(), s.Run())
	}
	if a, b := s.Version(world.Node, world.Event), s.Version(world.Node)+s.Version(world.Event); a != b {
		t.Errorf("together %d, each %d", a, b)
	}
}

// TestCut: a cut leaves the state; after the next sync, rows that were not sent again are gone.
func TestCut(t *testing.T) {
	s := lab(api.Update{Node: &api.Node{Name: "stays"}}, api.Update{Node: &api.Node{Name: "goes"}}, api.Update{VM: &api.VM{VCenter: "vc", Name: "v", MoRef: "vm-1"}})
	why := errors.New("connection refused")
	v := s.Version()
	s.Cut(why)
	if s.IsCut() != why || s.Version() == v || len(s.World().Rows(world.Node)) != 2 {
		t.Errorf("cut: %v, version %d after %d", s.IsCut(), s.Version(), v)
	}
	after(s, time.Minute, api.Update{Node: &api.Node{Name: "stays", Ready: "True"}})
	if s.IsCut() != nil || len(s.World().Rows(world.Node)) != 2 {
		t.Errorf("still cut: %v", s.IsCut())
	}
	after(s, time.Minute, api.Update{Node: &api.Node{Name: "came"}}, api.Update{Synced: true})
	if len(s.World().Rows(world.Node)) != 2 || len(s.World().Rows(world.VM)) != 0 {
		t.Errorf("%+v", s.World().Rows(world.Node))
	}
	for key, want := range map[string]fold.Change{"stays": {Fields: []string{"ready"}}, "came": {}, "goes": {Gone: true}} {
		want.At = began.Add(time.Minute)
		got, ok := s.Changed(world.Node, key)
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("%s: %t %s", key, ok, diff)
		}
	}
	if gone := s.Gone(world.Node); len(gone) != 1 || gone[0].Name != "goes" {
		t.Errorf("gone: %+v", gone)
	}
	s.Cut(why)
	if s.Cut(nil); s.IsCut() != nil {
		t.Error("taken up again, and still cut")
	}
}

func TestCountdown(t *testing.T) {
	s := lab()
	until := began.Add(2500 * time.Millisecond)
	after(s, 0, api.Update{Lease: &api.Lease{ID: "f1", State: "active", Until: &until}}, api.Update{Lease: &api.Lease{ID: "f2", State: "active"}})
	tick(s, 0)
	for _, tc := range []struct {
		at     time.Duration
		ticked bool
		next   time.Duration
	}{
		{400 * time.Millisecond, false, 100 * time.Millisecond},
		{500 * time.Millisecond, true, time.Second},
		{1400 * time.Millisecond, false, 100 * time.Millisecond},
		{2000 * time.Millisecond, true, 500 * time.Millisecond},
		{2500 * time.Millisecond, true, 2500 * time.Millisecond}, // that of the marks
		{3 * time.Second, false, 2 * time.Second},
		{5 * time.Second, true, 0},
	} {
		var kinds []world.Kind
		if tc.ticked {
			kinds = []world.Kind{world.Lease}
		}
		moves(t, s, func() { tick(s, tc.at) }, kinds...)
		if got := s.NextTick(); got != tc.next {
			t.Errorf("%s: next in %s, want %s", tc.at, got, tc.next)
		}
	}
	long := began.Add(time.Hour)
	after(s, 10*time.Second, api.Update{Lease: &api.Lease{ID: "f3", State: "active", Until: &long}})
	tick(s, 20*time.Second)
	if s.NextTick() != time.Second {
		t.Errorf("next in %s", s.NextTick())
	}
	after(s, 30*time.Second, api.Update{Lease: &api.Lease{ID: "f3", State: "healed", Until: &long, Ended: &until}})
	tick(s, 40*time.Second)
	if s.NextTick() != 0 {
		t.Errorf("healed, and next in %s", s.NextTick())
	}
}

func TestRunContinues(t *testing.T) {
	s := lab()
	after(s, 250*time.Millisecond, api.Update{Run: &api.Run{State: "running", Began: began}})
	if s.NextTick() != 750*time.Millisecond {
		t.Errorf("next in %s", s.NextTick())
	}
	moves(t, s, func() { tick(s, 900*time.Millisecond) })
	moves(t, s, func() { tick(s, 1100*time.Millisecond) }, fold.Run)
	after(s, 2*time.Second, api.Update{Run: &api.Run{State: "passed", Began: began}})
	if s.NextTick() != 0 {
		t.Errorf("passed, and next in %s", s.NextTick())
	}
}

// TestRest: without updates the state stops changing: an idle sandbox costs nothing.
func TestRest(t *testing.T) {
	s := tuitest.At(tuitest.Length)
	for range 1000 {
		d := s.NextTick()
		if d == 0 {
			v := s.Version()
			if s.Tick(s.Now().Add(24 * time.Hour)); s.Version() != v {
				t.Error("it changes, and was said not to")
			}
			return
		}
		v := s.Version()
		if s.Tick(s.Now().Add(d)); s.Version() == v {
			t.Errorf("after %s nothing changes, and was said to", d)
		}
	}
	t.Errorf("it does not come to rest: next in %s", s.NextTick())
}

// What is remembered has bounds.
func TestBounds(t *testing.T) {
	s := fold.New(fold.About{}, 100)
	s.Apply(began, api.Update{Synced: true})
	for i := range uint64(10_000) {
		s.Apply(began.Add(time.Duration(i)*time.Second), api.Update{Event: &event.Event{Seq: i + 1}}, api.Update{Node: &api.Node{Name: fmt.Sprint("n", i%10), Version: fmt.Sprint(i)}})
	}
	if n := len(s.World().Events()); n != 100 {
		t.Errorf("%d events", n)
	}
	if len(s.World().Events()) != 100 || s.World().LastEvent() != 10_000 {
		t.Errorf("%d events up to %d", len(s.World().Events()), s.World().LastEvent())
	}
	marked := 0
	for i := range 10 {
		if _, ok := s.Changed(world.Node, fmt.Sprint("n", i)); ok {
			marked++
		}
	}
	if marked != int(fold.Recent/time.Second) {
		t.Errorf("%d rows are marked", marked)
	}
}

func TestAgain(t *testing.T) {
	s := tuitest.At(30 * time.Second)
	fresh := s.Fresh()
	if fresh.World().Synced() || len(fresh.World().Events()) != 0 || fresh.About() != s.About() || fresh.Run() != nil {
		t.Error("something is known")
	}
	if fresh.Version() <= s.Version() || fresh.Version(world.Node) <= s.Version(world.Node) {
		t.Errorf("version %d after %d", fresh.Version(), s.Version())
	}
}
