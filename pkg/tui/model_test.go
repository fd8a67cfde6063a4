package tui

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
)

// calm is a time of the story at which all is well.
const calm = 18 * time.Second

func TestScreens(t *testing.T) {
	d := drive(t, &fake{upTo: calm}, nil)
	for i, key := range []string{"1", "2", "3", "4", "5", "6", "7"} {
		d.press(key)
		if d.at != intent.Screen(i) {
			t.Errorf("after %s on %s", key, d.at)
		}
	}
	d.press("tab")
	if d.at != intent.Overview {
		t.Errorf("tab after the last: %s", d.at)
	}
	d.press("shift+tab")
	if d.at != intent.Services {
		t.Errorf("shift+tab before the first: %s", d.at)
	}
}

func TestHeader(t *testing.T) {
	d := drive(t, &fake{upTo: 40 * time.Second}, nil)
	d.shows("default · zones-us-eu · speed 10")
	d.shows("5/6")
	d.shows("2/2")
	d.shows("1 fault")
}

func TestTypedCommand(t *testing.T) {
	f := &fake{upTo: calm}
	d := drive(t, f, nil)
	d.press(":")
	d.typedText("vm power-off worker-west-1")
	d.press("enter")
	d.until(func() bool { return d.under == 0 })
	if want := []string{`vm {"action":"power-off","vm":"worker-west-1"}`}; !slices.Equal(f.done(), want) {
		t.Errorf("did %v", f.done())
	}
	d.shows("$ vsphere-sandbox vm power-off worker-west-1")
}

// What is dangerous is asked first, with the command line that does the same; no is the answer that does not matter.
func TestQuestion(t *testing.T) {
	f := &fake{upTo: calm}
	d := drive(t, f, func(o *Options) { o.Name = "lab" })
	for _, no := range []string{"n", "esc", "enter"} {
		d.press(":")
		d.typedText("vm destroy worker-west-1")
		d.press("enter")
		d.shows("vsphere-sandbox --name lab vm destroy worker-west-1")
		d.press(no)
		d.hides("vm destroy worker-west-1")
		if len(f.done()) > 0 {
			t.Fatalf("after %s: did %v", no, f.done())
		}
	}
	d.press(":")
	d.typedText("vm destroy worker-west-1")
	d.press("enter", "y")
	d.until(func() bool { return d.under == 0 })
	if want := []string{`vm {"action":"destroy","vm":"worker-west-1","confirmed":true}`}; !slices.Equal(f.done(), want) {
		t.Errorf("did %v", f.done())
	}
}

// In read-only mode nothing changes anything: no typed command, no key, no menu.
func TestReadOnly(t *testing.T) {
	f := &fake{upTo: 40 * time.Second}
	d := drive(t, f, func(o *Options) { o.ReadOnly = true })
	d.shows("read-only")
	d.press(":")
	d.typedText("vm power-off worker-west-1")
	d.press("enter")
	d.shows("read-only: ctrl+r allows changes")
	d.press("esc", "4", "x", "X", "5", "D", "3", "O")
	d.press("esc", "1", "p", "f")
	if len(d.over) > 0 {
		t.Error("a menu is open")
	}
	if len(f.done()) > 0 {
		t.Fatalf("did %v", f.done())
	}
	d.press("?")
	d.hides("break it")
	d.press("esc", "ctrl+r")
	d.press(":")
	d.typedText("heal f1")
	d.press("enter")
	if len(f.done()) != 1 {
		t.Errorf("did %v", f.done())
	}
	d.press("ctrl+r")
	d.shows("read-only")
}

func TestLocked(t *testing.T) {
	f := &fake{upTo: calm}
	d := drive(t, f, func(o *Options) { o.Locked = true })
	d.press("ctrl+r", ":")
	d.typedText("vm power-off worker-west-1")
	d.press("enter")
	if len(f.done()) > 0 {
		t.Errorf("did %v", f.done())
	}
}

func TestFailure(t *testing.T) {
	d := drive(t, &fake{upTo: calm, fails: &api.Error{Code: "not-found", Message: `no VM "x"`, Try: "get vms"}}, nil)
	d.press(":")
	d.typedText("vm reset x")
	d.press("enter")
	if len(d.over) > 0 { // if it asks
		d.press("y")
	}
	d.shows(`no VM "x" (try: get vms)`)
}

func TestOverlays(t *testing.T) {
	d := drive(t, &fake{upTo: calm}, nil)
	if !d.screens[intent.Overview].(interface{ Choose(api.Subject) bool }).Choose(api.Subject{Kind: "node", Name: "worker-west-1"}) {
		t.Fatal("no such node")
	}
	d.bind()
	d.press("y")
	d.shows("spec: {}")
	d.press("esc")
	d.hides("spec: {}")
	d.press("w")
	d.shows("it is as it is")
	d.press("q") // closes what is on top
	d.hides("it is as it is")
	d.press("p")
	d.shows("suspend")
	d.press("esc", "f")
	d.shows("vm.power-off")
	d.press("esc", "?")
	d.shows("read-only")
	if d.press("esc"); len(d.over) > 0 {
		t.Error("something is open")
	}
}

func TestFilter(t *testing.T) {
	d := drive(t, &fake{upTo: calm}, nil)
	d.press("/")
	d.typedText("eu-1")
	d.press("enter")
	d.hides("worker-west-1")
	d.shows("worker-eu-1")
	d.shows("/eu-1")
	d.press("2", "1")
	d.hides("worker-west-1") // every screen keeps its own
	d.press("esc")
	d.shows("worker-west-1")
}

// TestCut: a cut stream is reopened; when the sandbox ends, the last state stays.
func TestCut(t *testing.T) {
	f := &fake{upTo: calm, cuts: []error{errFake}, held: make(chan struct{})}
	d := drive(t, f, nil)
	d.shows("not connected")
	close(f.held)
	d.until(func() bool { return strings.Contains(d.Frame(), "6/6") })

	f = &fake{upTo: calm, more: make(chan api.Update)}
	d = drive(t, f, nil)
	close(f.more)
	d.until(func() bool { return d.state.IsCut() != nil })
	d.shows("ended")
	d.shows("worker-west-1")
}

func TestQuit(t *testing.T) {
	quits := func(cmd tea.Cmd) bool {
		if cmd == nil {
			return false
		}
		_, ok := cmd().(tea.QuitMsg)
		return ok
	}
	key := func(name string) tea.KeyPressMsg {
		k, err := keyOf(name)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	t.Run("attached", func(t *testing.T) {
		for _, name := range []string{"q", "ctrl+c"} {
			d := drive(t, &fake{upTo: 40 * time.Second}, nil)
			if _, cmd := d.Update(key(name)); !quits(cmd) || d.outcome.Stop {
				t.Errorf("%s: %+v", name, d.outcome)
			}
			if d.outcome.Leases != 1 {
				t.Errorf("%s: %d leases", name, d.outcome.Leases)
			}
		}
	})
	t.Run("owned", func(t *testing.T) {
		for _, tc := range []struct {
			keys string
			quit bool
			stop bool
		}{
			{"q", false, false},
			{"q s", true, true},
			{"q l", true, false},
			{"q x", false, false},
			{"q x q s", true, true},
			{"ctrl+c", false, false},
			{"ctrl+c ctrl+c", true, true},
			{": ctrl+c ctrl+c", true, true},
		} {
			d := drive(t, &fake{upTo: calm}, func(o *Options) { o.Owned = true })
			quit := false
			for name := range strings.FieldsSeq(tc.keys) {
				_, cmd := d.Update(key(name))
				quit = quits(cmd)
			}
			if quit != tc.quit || d.outcome.Stop != tc.stop {
				t.Errorf("%s: quit %v, %+v", tc.keys, quit, d.outcome)
			}
		}
	})
}

// A recording can be looked at, paused and searched, and nothing can be done with it.
func TestPlayKeys(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m := NewModel(t.Context(), Options{Player: recording(t), Theme: "mono", Now: func() time.Time { return now }})
	m.resize(100, 30)
	d := &driver{Model: m, t: t}
	pass := func(by time.Duration) {
		now = now.Add(by)
		m.pass(now)
	}
	at := func(want time.Duration) {
		t.Helper()
		if got := m.play.player.At(); got != want {
			t.Fatalf("at %s, want %s", got, want)
		}
	}
	pass(0)
	pass(5 * time.Second)
	at(5 * time.Second)
	d.press("P")
	pass(5 * time.Second)
	at(5 * time.Second)
	d.press("P", "}", "}")
	pass(0)
	pass(5 * time.Second)
	at(25 * time.Second)
	d.press("<")
	at(15 * time.Second)
	d.press(">", ">", "{")
	at(35 * time.Second)
	d.shows("recording")
	d.shows("0:35/1:30 ×2")
	d.press(":")
	d.typedText("vm power-off worker-west-1")
	d.press("enter")
	d.shows("this is a recording")
	pass(time.Hour)
	at(90 * time.Second)
	d.press("P")
	at(0)
}

func TestLogs(t *testing.T) {
	asked := ""
	d := drive(t, &fake{upTo: calm}, func(o *Options) {
		o.Logs = func(ctx context.Context, component string, f func([]string)) error {
			asked = component
			f([]string{"first line", "a \x1b[2Jtrick"})
			<-ctx.Done()
			return ctx.Err()
		}
	})
	d.press(":")
	d.typedText("logs ccm")
	d.press("enter")
	d.shows("first line")
	d.hides("\x1b[2J")
	if asked != "ccm" {
		t.Errorf("asked for %q", asked)
	}
	d.press("esc")
	d.hides("first line")
}

func TestKeyNames(t *testing.T) {
	for _, name := range []string{"enter", "esc", "tab", "up", "pgdown", "space", "shift+tab", "ctrl+r", "j", "G", "?", "é"} {
		if k, err := keyOf(name); err != nil || k.String() != name {
			t.Errorf("%s: %s, %v", name, k, err)
		}
	}
	for _, name := range []string{"entr", "ctrl+", ""} {
		if k, err := keyOf(name); err == nil {
			t.Errorf("%q is %s", name, k)
		}
	}
}
