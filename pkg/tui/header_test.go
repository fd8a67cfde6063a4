package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// In a narrow terminal the counts have priority over constant parts, and the clock stays apart.
func TestNarrowHeader(t *testing.T) {
	now := time.Time{}
	d := drive(t, &fake{upTo: 40 * time.Second}, func(o *Options) {
		was := o.Now
		o.Now = func() time.Time {
			if now.IsZero() {
				return was()
			}
			return now
		}
	})
	for width := LeastWidth; width <= 160; width++ {
		d.resize(width, 24)
		head := ansi.Strip(d.header())
		if ansi.StringWidth(head) != width {
			t.Fatalf("at %d: %q", width, head)
		}
		if !strings.Contains(head, "nodes ✗ 5/6  vCenters ● 2/2 ") || !strings.Contains(head, " "+d.state.Now().Format("15:04:05")+" ") {
			t.Errorf("at %d: %q", width, head)
		}
	}
	gate := func(vc, mode string) {
		d.state.Apply(d.state.Now(), api.Update{VCenter: &api.VCenter{Name: vc, Gate: mode}})
	}
	gate("us", "slow")
	d.shows("vCenters ◐ 1/2")
	gate("eu", "down")
	d.shows("vCenters ✗ 0/2")

	d.state.Apply(d.state.Now(), api.Update{Event: &event.Event{Seq: 1 << 40, Kind: "boot.step", Message: "faults: up in 3ms"}})
	d.shows("booting, faults up")

	// The header of a cut stream has its age.
	d.updatedAt = d.state.Now()
	d.state.Cut(errFake)
	now = d.state.Now().Add(42 * time.Second)
	d.pass(now)
	d.shows("not connected, 42s old")
}

// A long filter does not change the tabs.
func TestLongFilter(t *testing.T) {
	d := drive(t, &fake{upTo: calm}, func(o *Options) { o.ReadOnly = true })
	d.resize(80, 24)
	d.filter(strings.Repeat("long ", 60))
	tabs := ansi.Strip(d.tabs())
	if ansi.StringWidth(tabs) != 80 || !strings.Contains(tabs, "6 Scenario") || !strings.Contains(tabs, "read-only") {
		t.Errorf("%d wide: %q", ansi.StringWidth(tabs), tabs)
	}
}

// It does not break any screen either.
func TestLongFilterScreens(t *testing.T) {
	d := drive(t, &fake{upTo: 40 * time.Second}, nil)
	for _, key := range []string{"1", "2", "3", "4", "5", "6"} {
		d.press(key)
		d.filter(strings.Repeat("long ", 60))
		for _, size := range [][2]int{{80, 24}, {200, 60}} {
			d.resize(size[0], size[1])
			rows := strings.Split(ansi.Strip(d.Frame()), "\n")
			if len(rows) != size[1] {
				t.Errorf("on %s: %d lines", key, len(rows))
			}
			for i, row := range rows {
				if ansi.StringWidth(row) != size[0] {
					t.Errorf("on %s at %d: line %d is %d wide", key, size[0], i, ansi.StringWidth(row))
				}
			}
		}
	}
}
