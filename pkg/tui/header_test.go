package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// In a narrow terminal the counts come before what stays as it is, and nothing touches the clock.
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

	// What is cut off says how old it is.
	d.toldAt = d.state.Now()
	d.state.Cut(errFake)
	now = d.state.Now().Add(42 * time.Second)
	d.pass(now)
	d.shows("not connected, 42s old")
}
