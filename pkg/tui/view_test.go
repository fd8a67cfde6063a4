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
	for _, key := range []string{"1", "2", "3", "4", "5", "6", "7"} {
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

// TestLongAnswer: a long answer is shown in full, on as many lines as it needs.
func TestLongAnswer(t *testing.T) {
	long := "the vCenter us answers: " + strings.Repeat("NoPermission on datastore ds-1 ", 6) + "end-of-it"
	d := drive(t, &fake{upTo: calm, fails: &api.Error{Message: long, Try: "get events"}}, nil)
	for _, size := range [][2]int{{80, 24}, {200, 60}} {
		d.resize(size[0], size[1])
		d.press(":")
		d.typedText("vm power-off worker-west-1")
		d.press("enter")
		d.shows("end-of-it")
		d.shows("(try: get events)")
		rows := strings.Split(ansi.Strip(d.Frame()), "\n")
		if len(rows) != size[1] {
			t.Fatalf("%d lines", len(rows))
		}
		for i, row := range rows {
			if w := ansi.StringWidth(row); w != size[0] {
				t.Errorf("line %d is %d wide", i, w)
			}
		}
		if strings.Contains(rows[size[1]-1], "…") {
			t.Errorf("it is cut off: %s", rows[size[1]-1])
		}
	}
	// Not even the longest takes more than its share.
	d.say(strings.Repeat("no end ", 500), true)
	if n := len(d.said()); n != flashLines {
		t.Errorf("%d lines", n)
	}
}

// What was done is said with the command line that does the same, whole; a key takes it away as soon as it can have been
// read, and no sooner.
func TestFlashGoes(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	d := drive(t, &fake{upTo: calm}, func(o *Options) { o.Now = func() time.Time { return now } })
	d.resize(80, 24)
	d.press(":")
	d.typedText("vm power-off worker-west-1 worker-east-1 worker-east-2 worker-eu-1 worker-eu-2")
	d.press("enter")
	if len(d.over) > 0 { // it asks
		d.press("y")
	}
	d.until(func() bool { return d.under == 0 })
	d.shows("worker-eu-2")
	if s := d.said(); !strings.Contains(ansi.Strip(s[len(s)-1]), "worker-eu-2") {
		t.Errorf("the command is not whole: %q", s)
	}
	d.press("j")
	if d.flash.text == "" {
		t.Error("a key took it away at once")
	}
	now = now.Add(flashLeast)
	if d.press("j"); d.flash.text != "" {
		t.Error("it stays")
	}
	d.say("all is well", false)
	d.pass(now.Add(flashTime))
	if d.flash.text != "" {
		t.Error("it stays for ever")
	}
}

// What is wrong with a typed command is read whole, too.
func TestLongPromptError(t *testing.T) {
	d := drive(t, &fake{upTo: calm}, nil)
	d.resize(80, 24)
	d.press(":")
	d.typedText("vm frobnicate-" + strings.Repeat("abc-", 18) + "end")
	d.press("enter")
	if !d.typing {
		t.Fatal("it was understood")
	}
	wrong := d.line.Error(80)
	if wrong == "" {
		t.Fatalf("there is room for all of it:\n%s", ansi.Strip(d.Frame()))
	}
	last := wrong[strings.LastIndexByte(wrong, ' ')+1:]
	rows := strings.Split(ansi.Strip(d.Frame()), "\n")
	if above := strings.Join(rows[len(rows)-4:len(rows)-1], "\n"); !strings.Contains(above, last[len(last)-4:]) {
		t.Errorf("%q is not above the line:\n%s", wrong, above)
	}
	if d.resize(200, 24); d.line.Error(200) != "" {
		t.Error("it is said twice")
	}
	d.press("esc")
	d.press(":")
	d.typedText("no")
	d.press("enter")
	if d.line.Error(80) != "" {
		t.Error("a short one is said twice")
	}
}
