package fold_test

import (
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
)

var began = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// lab returns a synced sandbox at speed 10.
func lab(updates ...api.Update) *fold.State {
	s := fold.New(fold.About{Sandbox: "lab", Speed: 10}, 0)
	s.Apply(began, append(updates, api.Update{Synced: true})...)
	return s
}

// after applies updates at a time since the beginning.
func after(s *fold.State, d time.Duration, updates ...api.Update) {
	s.Apply(began.Add(d), updates...)
}

func tick(s *fold.State, d time.Duration) { s.Tick(began.Add(d)) }

// moves checks that f changes the versions of these kinds, and of no others.
func moves(t *testing.T, s *fold.State, f func(), kinds ...world.Kind) {
	t.Helper()
	all := append(world.Kinds(), world.Event, fold.Calls, fold.Run, fold.Findings)
	before := map[world.Kind]uint64{}
	for _, k := range all {
		before[k] = s.Version(k)
	}
	total := s.Version()
	f()
	want := map[world.Kind]bool{}
	for _, k := range kinds {
		want[k] = true
	}
	for _, k := range all {
		if got := s.Version(k) != before[k]; got != want[k] {
			t.Errorf("%s: changed is %t, want %t", k, got, want[k])
		}
	}
	if (s.Version() != total) != (len(kinds) > 0) {
		t.Errorf("the version was %d, is %d", total, s.Version())
	}
}
