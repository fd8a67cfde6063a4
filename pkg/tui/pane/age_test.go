package pane_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/pane"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

// An answer says of when it is. One that could not be had again stays, with the reason and its age above it, and all of it
// can still be scrolled to.
func TestAge(t *testing.T) {
	node := subject()
	d, w := pane.NewDetails(node), pane.NewWhy(node)
	for _, tc := range []struct {
		name   string
		p      panel.Panel
		report func(error)
	}{
		{"details", d, func(err error) { d.SetInspection(inspection(), err) }},
		{"why", w, func(err error) { w.SetExplanation(explanation(), err) }},
	} {
		now := time.Date(2026, 9, 1, 23, 30, 0, 0, time.UTC)
		s := fold.New(fold.About{}, 0)
		pass := func(by time.Duration) {
			now = now.Add(by)
			s.Tick(now)
			tc.p.SetState(s)
		}
		tc.p.SetSize(80, 12)
		pass(0)
		tc.report(nil)
		if got := seen(tc.p); !strings.Contains(got, "as of 23:30:00") || strings.Contains(got, "old") {
			t.Errorf("%s:\n%s", tc.name, got)
		}
		tuitest.Press(tc.p.Handle, "G")
		end := seen(tc.p)
		end = end[strings.LastIndexByte(strings.TrimRight(end, "\n"), '\n')+1:]
		pass(12 * time.Second)
		tc.report(errors.New("the API server does not answer"))
		tuitest.Press(tc.p.Handle, "G")
		got := seen(tc.p)
		for _, want := range []string{"as of 23:30:00", "✗ this is 12s old: the API server does not answer", end} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", tc.name, want, got)
			}
		}
		tuitest.Fills(t, tc.p.View(), 80, 12)
		tc.report(nil)
		if got := seen(tc.p); !strings.Contains(got, "as of 23:30:12") || strings.Contains(got, "old") {
			t.Errorf("%s, again:\n%s", tc.name, got)
		}
	}
}

// All times on a screen are of one zone: that of the clock.
func TestZoneOfTimes(t *testing.T) {
	s := fold.New(fold.About{}, 0)
	s.Tick(time.Date(2026, 9, 1, 12, 0, 0, 0, time.FixedZone("", -5*3600)))
	w := pane.NewWhy(api.Subject{Kind: "node", Name: "w"})
	w.SetState(s)
	w.SetSize(100, 60)
	e := explanation()
	w.SetExplanation(e, nil)
	want := e.Events[0].Time.Add(-5 * time.Hour).Format("15:04:05.000")
	if got := seen(w); !strings.Contains(got, want) {
		t.Errorf("no %s in\n%s", want, got)
	}
}
