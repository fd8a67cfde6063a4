package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
)

func (d *driver) choose(s api.Subject) {
	d.t.Helper()
	if !d.top().(panel.Chooser).Choose(s) {
		d.t.Fatalf("there is no %v", s)
	}
	d.bind()
}

func (d *driver) footLine() string { return ansi.Strip(d.foot()) }

func worker() api.Subject { return api.Subject{Kind: "node", Name: "worker-west-1"} }

// The foot has the keys for the selected object. Keys that move are left out, and the help is always there.
func TestHints(t *testing.T) {
	d := drive(t, &fake{upTo: calm}, nil)
	d.resize(80, 24)
	d.choose(worker())
	if got, want := d.footLine(), " enter/y details  w why  f break it  p power "; !strings.HasPrefix(got, want) || !strings.HasSuffix(strings.TrimSpace(got), "? all keys") {
		t.Errorf("on a node: %q", got)
	}
	for _, key := range []string{"1", "2", "3", "4", "5", "6", "7"} {
		d.press(key)
		if got := d.footLine(); strings.Contains(got, "pgup") || strings.Contains(got, "↑") || !strings.Contains(got, "? all keys") {
			t.Errorf("on %s: %q", key, got)
		}
	}
}

// No hint and no line of the help is about a key that a panel takes.
func TestShadowedKeys(t *testing.T) {
	d := drive(t, &fake{upTo: 40 * time.Second}, nil)
	d.press("2", "G", "k") // enter shows a chain there
	if got := d.footLine(); strings.Contains(got, "enter/y") {
		t.Errorf("enter is said to show details: %q", got)
	}
	d.press("1")
	d.choose(worker())
	d.press("f") // letters are searched for there
	if got := d.footLine(); !strings.Contains(got, "f1 all keys") || strings.Contains(got, "? all") || strings.Count(got, "esc") != 1 {
		t.Errorf("in the menu: %q", got)
	}
	d.press("?")
	if d.helps() {
		t.Error("a letter of a search opens the help")
	}
	d.press("f1")
	if !d.helps() {
		t.Fatal("f1 shows no help")
	}
	for _, no := range []string{"next screen", "read-only", "quit\n"} {
		d.hides(no)
	}
	d.shows("search by typing")
	if d.press("f1"); d.helps() {
		t.Error("f1 does not close it")
	}
}

func TestHelpCloses(t *testing.T) {
	d := drive(t, &fake{upTo: calm}, nil)
	d.press("?", "?")
	if len(d.over) > 0 {
		t.Error("? in the help opens another")
	}
	d.choose(worker())
	d.press("?")
	d.shows("break it")
	d.press("ctrl+r") // what it says is true at once
	d.hides("break it")
	d.shows("read-only")
}

// A key without an effect shows why.
func TestIdleKeys(t *testing.T) {
	said := func(d *driver, key, want string) {
		t.Helper()
		d.flash = flash{}
		if d.press(key); !strings.Contains(d.flash.text, want) || len(d.over) > 0 {
			t.Errorf("%s: %q, want %q", key, d.flash.text, want)
		}
	}
	d := drive(t, &fake{upTo: calm}, func(o *Options) { o.ReadOnly = true })
	d.choose(worker())
	said(d, "p", "ctrl+r allows changes")
	said(d, "f", "ctrl+r allows changes")
	said(d, "l", "no logs")
	d = drive(t, &fake{upTo: calm}, func(o *Options) { o.Locked = true })
	said(d, "f", "nothing is changed")
	said(d, "ctrl+r", "always")
	d = drive(t, &fake{upTo: calm}, nil)
	d.press("6")
	said(d, "p", "no VM or node is selected")
	said(d, "w", "no node, VM, volume or Service is selected")
	said(d, "o", "the selection is on no other screen")

	m := NewModel(t.Context(), Options{Player: recording(t), Theme: "mono", Now: func() time.Time { return time.Time{} }})
	m.resize(80, 24)
	d = &driver{Model: m, t: t}
	said(d, "f", "no faults can be injected")
	said(d, "y", "only a running sandbox answers")
}

// In read-only mode no hint and no line of the help is about a key that changes something.
func TestReadOnlyHints(t *testing.T) {
	for _, tc := range []struct{ keys, hidden string }{
		{"1", "power"}, {"1", "break it"}, {"3", "detach"}, {"3", "out of service"}, {"4", "heal"}, {"5", "vCenter down"}, {"4 ] enter", "ctrl+s"},
	} {
		for _, readOnly := range []bool{false, true} {
			d := drive(t, &fake{upTo: 40 * time.Second}, func(o *Options) { o.ReadOnly = readOnly })
			d.resize(200, 60)
			d.choose(worker())
			d.press(strings.Fields(tc.keys)...)
			d.press("f1")
			if got := strings.Contains(ansi.Strip(d.Frame()), tc.hidden); got == readOnly {
				t.Errorf("%s, read-only %t: %q is in the help: %t\n%s", tc.keys, readOnly, tc.hidden, got, ansi.Strip(d.Frame()))
			}
		}
	}
}

// The plan of a fault changes nothing: read-only mode shows it.
func TestPlanReadOnly(t *testing.T) {
	f := &fake{upTo: calm}
	d := drive(t, f, func(o *Options) { o.ReadOnly = true })
	d.press(":")
	d.typedText("fault inject vm.power-off worker-west-1 --dry-run")
	d.press("enter")
	d.shows("nothing was done")
	if did := f.done(); len(did) != 1 || !strings.Contains(did[0], `"dryRun":true`) {
		t.Errorf("did %v", did)
	}
}

// Focus shows its subject: it removes a filter that hides it, and keeps any other.
func TestFocusFiltered(t *testing.T) {
	d := drive(t, &fake{upTo: calm}, nil)
	d.filter("worker-west")
	d.do(intent.Focus{Subject: worker()})
	d.shows("/worker-west")
	d.do(intent.Focus{Subject: api.Subject{Kind: "node", Name: "worker-eu-1"}})
	d.hides("/worker-west")
	d.shows("removed the filter")
	if s, ok := d.subject(); !ok || s.Name != "worker-eu-1" {
		t.Errorf("selected is %v", s)
	}
	d.filter("worker-west")
	d.do(intent.Focus{Subject: api.Subject{Kind: "node", Name: "nobody"}})
	d.shows("/worker-west")
	d.shows("node nobody does not exist")
}

// Open panels do not offer what read-only mode forbids, and a plan does not offer to inject.
func TestReadOnlyWhileOpen(t *testing.T) {
	d := drive(t, &fake{upTo: calm}, nil)
	d.choose(worker())
	d.press("p")
	d.shows("suspend")
	if d.press("ctrl+r"); len(d.over) > 0 {
		t.Error("the power menu stays open")
	}
	d.press("4", "enter")
	d.shows("Inject vm.power-off")
	if frame := ansi.Strip(d.Frame()); strings.Contains(frame, "ctrl+s") || !strings.Contains(frame, "ctrl+d") {
		t.Errorf("the form offers to inject:\n%s", frame)
	}
	d.press("f1")
	d.hides("inject")
}
