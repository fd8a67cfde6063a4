package tui

import (
	"context"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
)

// What is done to a VM is done to that of its vCenter, never to a namesake in another.
func TestNamesakes(t *testing.T) {
	f := &fake{upTo: calm}
	d := drive(t, f, nil)
	for _, vcenter := range []string{"us", "eu"} {
		d.state.Apply(d.state.Now(), api.Update{VM: &api.VM{Name: "twin", VCenter: vcenter, Datacenter: "dc", Power: "on"}})
	}
	d.report()
	for _, vcenter := range []string{"eu", "us"} {
		d.choose(api.Subject{Kind: "vm", VCenter: vcenter, Name: "twin"})
		d.press("p", "D")
		d.shows("Destroy VM " + vcenter + "/twin?")
		// The rows move while the question is open: it is about what it was about.
		d.state.Apply(d.state.Now(), api.Update{VM: &api.VM{Name: "a", VCenter: vcenter, Datacenter: "dc"}})
		d.report()
		d.press("y")
		d.until(func() bool { return d.under == 0 })
		if did, want := f.done(), `vm {"action":"destroy","vm":"twin","vcenter":"`+vcenter+`","confirmed":true}`; did[len(did)-1] != want {
			t.Errorf("did %v, want %s", did, want)
		}
	}
	d.do(intent.Power{Subject: api.Subject{Kind: "vm", Name: "twin"}}) // of an event that does not say
	if len(d.over) > 0 || !strings.Contains(d.flash.text, "or several") {
		t.Errorf("a menu is open for one of them; said %q", d.flash.text)
	}
}

// slow is a sandbox of which every vCenter is.
type slow struct {
	fake
	answers chan struct{}
}

func (s *slow) VM(ctx context.Context, r api.VMRequest) (api.Done, error) {
	<-s.answers
	return s.fake.VM(ctx, r)
}

// A key that is pressed twice does it once.
func TestTwice(t *testing.T) {
	s := &slow{fake: fake{upTo: calm}, answers: make(chan struct{})}
	d := drive(t, &s.fake, func(o *Options) { o.Sandbox = s })
	d.choose(worker())
	d.press("p", "s", "s")
	close(s.answers)
	d.until(func() bool { return d.under == 0 })
	if did := s.done(); len(did) != 1 {
		t.Errorf("did %v", did)
	}
	d.press("p", "s")
	d.until(func() bool { return d.under == 0 })
	if did := s.done(); len(did) != 2 {
		t.Errorf("once more: did %v", did)
	}
}

// Only what a screen has can be gone to.
func TestFocus(t *testing.T) {
	d := drive(t, &fake{upTo: calm}, nil)
	d.press("2")
	d.do(intent.Focus{Subject: api.Subject{Kind: "component", Name: "ccm"}})
	if d.at != intent.Timeline || !strings.Contains(d.flash.text, "on no screen") {
		t.Errorf("on %s, said %q", d.at, d.flash.text)
	}
	d.press("3")
	if d.bind(); d.keys.focus.Enabled() {
		t.Error("a volume can be shown where it is")
	}
}

func click(x, y int) tea.Msg { return tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft} }

// The mouse goes to screens, selects, scrolls and answers; not while something else is asked.
func TestMouse(t *testing.T) {
	f := &fake{upTo: calm}
	d := drive(t, f, func(o *Options) { o.Owned = true })
	d.deliver(click(strings.Index(ansi.Strip(d.tabs()), "2 Timeline"), 1))
	if d.at != intent.Timeline {
		t.Errorf("after a click on its tab on %s", d.at)
	}
	d.deliver(click(1, 1))
	subjectAt := func() api.Subject { s, _ := d.subject(); return s }
	var selected []api.Subject
	for y := range d.layout.body.height {
		d.deliver(click(40, d.layout.body.y+y))
		if s := subjectAt(); s.Kind == "node" && !slices.Contains(selected, s) {
			selected = append(selected, s)
		}
	}
	if len(selected) != 6 {
		t.Errorf("clicks select %v", selected)
	}
	d.press("g")
	before := subjectAt()
	d.deliver(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	d.deliver(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	if subjectAt() == before {
		t.Error("the wheel does not scroll")
	}
	d.choose(worker())
	d.press("p", "D")
	for y := range d.height { // "No" is right of "Yes"
		if row := strings.Split(ansi.Strip(d.Frame()), "\n")[y]; strings.Contains(row, "[n] No") {
			at := []rune(row[:strings.Index(row, "[n] No")])
			d.deliver(click(len(at), y))
			break
		}
	}
	if d.confirmed() || len(f.done()) > 0 {
		t.Errorf("the question is answered with a click: open %t, did %v", d.confirmed(), f.done())
	}
	d.press("esc")
	d.press("q")
	d.deliver(click(strings.Index(ansi.Strip(d.tabs()), "2 Timeline"), 1))
	if d.at != intent.Overview || !d.leaving {
		t.Errorf("a click while the last question is open: on %s", d.at)
	}
}
