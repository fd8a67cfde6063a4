package pane_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"charm.land/bubbles/v2/key"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/pane"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

func TestDetailsFrames(t *testing.T) {
	d := pane.NewDetails(subject())
	d.SetInspection(inspection(), nil)
	frames(t, "details", d)
	colored(t, "details", d)
}

func TestDetailsStates(t *testing.T) {
	d := pane.NewDetails(api.Subject{Kind: "vm", VCenter: "us", Name: "w\x1b[31m"})
	d.SetSize(60, 5)
	if got := seen(d); got != "Details of vm us/w\nloading…\n\n\n" {
		t.Errorf("%q", got)
	}
	d.SetInspection(api.Inspection{}, &api.Error{Message: "vm \"w\" not found", Try: "vsphere-sandbox get vms"})
	if got := seen(d); got != "Details of vm us/w\n✗ vm \"w\" not found\n\ntry: vsphere-sandbox get vms\n" {
		t.Errorf("%q", got)
	}
	d.SetInspection(api.Inspection{}, nil)
	if got := seen(d); got != "Details of vm us/w\n✗ there is nothing to be seen of it\n\n\n" {
		t.Errorf("%q", got)
	}
	i := inspection()
	i.Parts[0] = api.Part{Title: "Node w", Error: "the API server does not answer"}
	d.SetInspection(i, nil)
	if got := seen(d); got != "Details of vm us/w\n▸ Node w (1 of 2)\n✗ the API server does not answer\n\n" {
		t.Errorf("%q", got)
	}
	if s, ok := d.Subject(); !ok || s.VCenter != "us" {
		t.Errorf("%v %t", s, ok)
	}
}

func TestDetailsKeys(t *testing.T) {
	d := pane.NewDetails(subject())
	d.SetSize(80, 10)
	if got := enabled(d); got != "" {
		t.Errorf("while loading: %s", got)
	}
	d.SetInspection(inspection(), nil)
	if got := enabled(d); got != "[ ] ↑/k ↓/j pgup pgdn/space ctrl+u ctrl+d g G ←/h → z" {
		t.Errorf("%s", got)
	}
	for _, tc := range []struct{ key, want string }{
		{"j", "2-9 of 33"},
		{"k", "1-8 of 33"},
		{"pgdown", "8-15 of 33"},
		{"space", "15-22 of 33"},
		{"ctrl+d", "19-26 of 33"},
		{"ctrl+u", "15-22 of 33"},
		{"pgup", "8-15 of 33"},
		{"G", "26-33 of 33  100%"},
		{"down", "26-33 of 33"},
		{"g", "1-8 of 33  24%"},
		{"up", "1-8 of 33"},
		{"end", "26-33 of 33"},
		{"home", "1-8 of 33"},
		{"]", "VM worker-west-1 of vCenter us (2 of 2)"},
		{"]", "Node worker-west-1 (1 of 2)"},
		{"[", "VM worker-west-1 of vCenter us (2 of 2)"},
	} {
		if i, taken := press(d, tc.key); !taken || i != nil || !strings.Contains(seen(d), tc.want) {
			t.Errorf("%s: %t %v\n%s", tc.key, taken, i, seen(d))
		}
	}
	for _, name := range []string{"esc", "q", "/", "?", "tab", "y", "w", "l", "1", "enter", "p", "f"} {
		if _, taken := press(d, name); taken {
			t.Errorf("%s is taken from the root", name)
		}
	}
	// An update moves nothing.
	press(d, "[", "j", "j")
	d.SetInspection(inspection(), nil)
	if !strings.Contains(seen(d), "3-10 of 33") {
		t.Errorf("it moved:\n%s", seen(d))
	}
	d.Wheel(3)
	if !strings.Contains(seen(d), "6-13 of 33") {
		t.Errorf("wheel:\n%s", seen(d))
	}
	d.SetSize(160, 10)
	d.Click(150, 3)
	if !strings.Contains(seen(d), "▸ VM worker-west-1") {
		t.Errorf("click:\n%s", seen(d))
	}
	d.Click(2, 3)
	if !strings.Contains(seen(d), "▸ Node worker-west-1") {
		t.Errorf("click:\n%s", seen(d))
	}
}

func TestSearch(t *testing.T) {
	d := pane.NewDetails(subject())
	d.SetSize(80, 10)
	d.SetInspection(inspection(), nil)
	d.SetFilter("VALUE field")
	for _, tc := range []struct{ key, want string }{
		{"", "match 1 of 12"}, {"n", "match 2 of 12"}, {"N", "match 1 of 12"}, {"N", "match 12 of 12"}, {"n", "match 1 of 12"},
	} {
		if tc.key != "" {
			press(d, tc.key)
		}
		if !strings.Contains(seen(d), tc.want) || !strings.Contains(seen(d), "field") {
			t.Errorf("%s: want %s\n%s", tc.key, tc.want, seen(d))
		}
	}
	if !strings.HasSuffix(enabled(d), "n N") {
		t.Errorf("%s", enabled(d))
	}
	tuitest.Colored(t, "search", d.View())
	d.SetFilter("nowhere to be found")
	if !strings.Contains(seen(d), "match 0 of 0") || !strings.Contains(seen(d), "apiVersion") {
		t.Errorf("it stays where the search began:\n%s", seen(d))
	}
	d.SetFilter("")
	if strings.Contains(seen(d), "match") || strings.Contains(enabled(d), "N") {
		t.Errorf("%s\n%s", enabled(d), seen(d))
	}
}

func TestWhyFrames(t *testing.T) {
	w := pane.NewWhy(subject())
	w.SetExplanation(explanation(), nil)
	frames(t, "why", w)
	colored(t, "why", w)
}

func TestWhyKeys(t *testing.T) {
	w := pane.NewWhy(subject())
	w.SetSize(80, 12)
	if got := seen(w); !strings.HasPrefix(got, "Why node worker-west-1\nloading…\n") || enabled(w) != "" {
		t.Errorf("%s\n%s", enabled(w), got)
	}
	w.SetExplanation(explanation(), nil)
	if i, taken := press(w, "enter"); i != nil || !taken {
		t.Errorf("enter on the summary: %v %t", i, taken)
	}
	if strings.Contains(enabled(w), "enter") {
		t.Errorf("%s", enabled(w))
	}
	if i, _ := press(w, "j", "j", "j", "j", "enter"); i != (intent.Chain{Seq: 94}) || !strings.Contains(enabled(w), "enter") {
		t.Errorf("enter on evidence: %v\n%s", i, seen(w))
	}
	w.SetSize(40, 12) // the lines are others, the event is the same
	if i, _ := press(w, "enter"); i != (intent.Chain{Seq: 94}) {
		t.Errorf("narrower: %v\n%s", i, seen(w))
	}
	if i, _ := press(w, "G", "enter"); i != (intent.Chain{Seq: 95}) || !strings.Contains(seen(w), "enter: event 95") {
		t.Errorf("enter on the last event: %v\n%s", i, seen(w))
	}
	w.SetSize(100, 30)
	press(w, "g")
	if i, _ := w.Click(3, 5); i != nil {
		t.Errorf("the first click: %v", i)
	}
	if i, _ := w.Click(3, 5); i != (intent.Chain{Seq: 94}) {
		t.Errorf("the second click: %v\n%s", i, seen(w))
	}
	if i, taken := w.Click(3, 29); i != nil || !taken {
		t.Errorf("below: %v", i)
	}
	w.SetFilter("us-east")
	if !strings.Contains(seen(w), "match 1 of 1") {
		t.Error(seen(w))
	}
	w.SetExplanation(api.Explanation{}, &api.Error{Message: "node \"x\": there has never been one", Try: "vsphere-sandbox get nodes"})
	if got := seen(w); !strings.Contains(got, "✗ node \"x\": there has never been one") || !strings.Contains(got, "try: vsphere-sandbox get nodes") {
		t.Error(got)
	}
	if s, ok := w.Subject(); !ok || s != subject() {
		t.Errorf("%v", s)
	}
}

func logLines(from, to int) (lines []string) {
	for i := from; i < to; i++ {
		lines = append(lines, fmt.Sprintf("I0901 12:00:%02d.000000    4301 controller.go:%d] Reconciling node worker-%d", i%60, i, i))
	}
	return lines
}

func TestLogsFrames(t *testing.T) {
	l := pane.NewLogs("ccm")
	l.Append(logLines(0, 60))
	l.Append([]string{
		"E0901 12:01:00.000000    4301 search.go:12] \x1b[31mvCenter us\x1b[0m does not answer\tno such host " + strings.Repeat("very long ", 30) + "end",
		"W0901 12:01:00.000000    4301 search.go:12] slow", "time=2026 level=ERROR msg=no", `{"level":"warn"}`, "",
	})
	frames(t, "logs", l)
	colored(t, "logs", l)
}

func TestLogsKeys(t *testing.T) {
	l := pane.NewLogs("node/worker-1")
	l.SetSize(100, 11)
	if got := seen(l); !strings.HasPrefix(got, "Logs node/worker-1") || !strings.Contains(got, "loading…") || l.Component() != "node/worker-1" {
		t.Error(got)
	}
	l.Append(nil)
	if got := seen(l); !strings.Contains(got, "nothing is written yet") || strings.Contains(got, "loading") {
		t.Error(got)
	}
	l.Append(logLines(0, 100))
	for _, tc := range []struct {
		key  string
		want string
	}{
		{"", "91-100 of 100  100%  follows"},
		{"k", "90-99 of 100  99%  stays here"},
		{"append", "90-99 of 110  90%  stays here"},
		{"t", "101-110 of 110  100%  follows"},
		{"append", "111-120 of 120  100%  follows"},
		{"t", "111-120 of 120  100%  stays here"},
		{"append", "111-120 of 130  92%  stays here"},
		{"G", "121-130 of 130  100%  follows"},
		{"g", "1-10 of 130  7%  stays here"},
		{"pgdown", "10-19 of 130  14%  stays here"},
		{"wheel", "121-130 of 130  100%  follows"},
	} {
		switch tc.key {
		case "":
		case "append":
			l.Append(logLines(0, 10))
		case "wheel":
			l.Wheel(1000)
		default:
			press(l, tc.key)
		}
		if head, _, _ := strings.Cut(seen(l), "\n"); !strings.HasSuffix(head, tc.want) {
			t.Errorf("%s: %s, want %s", tc.key, head, tc.want)
		}
	}
	l.SetError(nil)
	l.SetError(errors.New("the file is gone"))
	if !strings.HasSuffix(seen(l), "✗ the file is gone") || !strings.Contains(seen(l), "Reconciling") {
		t.Error(seen(l))
	}
	l.Click(1, 1)
}

func TestSideways(t *testing.T) {
	l := pane.NewLogs("ccm")
	l.SetSize(40, 6)
	l.Append([]string{"0123456789 日本語 abcdefghij klmnopqrst uvwxyz 9876543210", "short"})
	for _, tc := range []struct{ key, want string }{
		{"", "0123456789 日本語 abcdefghij klmnopqrst"},
		{"left", "0123456789 日本語 abcdefghij klmnopqrst"},
		{"right", "89 日本語 abcdefghij klmnopqrst uvwxyz 9"},
		{"right", "語 abcdefghij klmnopqrst uvwxyz 98765432"}, // half of a rune is none
		{"right", "abcdefghij klmnopqrst uvwxyz 9876543210"},
		{"h", "9 日本語 abcdefghij klmnopqrst uvwxyz 98"},
		{"z", "0123456789 日本語 abcdefghij klmnopqrst"},
		{"right", "0123456789 日本語 abcdefghij klmnopqrst"},
	} {
		if tc.key != "" {
			press(l, tc.key)
		}
		got := strings.Split(seen(l), "\n")
		if strings.TrimSpace(tc.want) != strings.TrimSpace(got[1]) {
			t.Errorf("%s: %q, want %q", tc.key, got[1], tc.want)
		}
		tuitest.Fills(t, l.View(), 40, 6)
	}
	if got := strings.Split(seen(l), "\n"); got[2] != "uvwxyz 9876543210" || got[3] != "short" {
		t.Errorf("wrapped: %q", got)
	}
	l.SetSize(20, 8)
	if got := strings.Split(seen(l), "\n"); got[1] != "0123456789 日本語" || got[2] != "abcdefghij" {
		t.Errorf("narrower: %q", got)
	}
	if !strings.Contains(enabled(l), "z") || strings.Contains(enabled(l), "→") {
		t.Error(enabled(l))
	}
	press(l, "z")
	if !strings.Contains(enabled(l), "→") {
		t.Error(enabled(l))
	}
}

// TestBounded: a log is kept up to a number of lines; a user who scrolled up stays in place.
func TestBounded(t *testing.T) {
	for _, wrap := range []bool{false, true} {
		l := pane.NewLogs("ccm")
		l.SetSize(100, 11)
		l.Append(logLines(0, 3*pane.Most))
		l.SetFilter("worker-29990")
		if wrap {
			press(l, "z")
		}
		press(l, "k")
		before := strings.Split(seen(l), "\n")
		l.Append(logLines(3*pane.Most, 3*pane.Most+1))
		after := strings.Split(seen(l), "\n")
		if before[1] != after[1] || before[10] != after[10] || !strings.Contains(after[0], "of 9000 ") || !strings.Contains(after[0], "match 1 of 1") {
			t.Errorf("wrap %t: %q\n%q", wrap, before, after)
		}
		press(l, "g", "n")
		if !strings.Contains(seen(l), "worker-29990") {
			t.Errorf("wrap %t: the match is lost:\n%s", wrap, seen(l))
		}
	}
}

func TestList(t *testing.T) {
	s := tuitest.At(30 * time.Second)
	l := pane.NewList("Which component?", pane.Components(s))
	l.SetState(s)
	frames(t, "list", l)
	colored(t, "list", l)
	l.SetSize(60, 8)
	if i, _ := press(l, "enter"); i != (intent.Logs{Component: "ccm"}) {
		t.Errorf("%v", i)
	}
	if i, _ := press(l, "j", "j", "enter"); i != (intent.Logs{Component: "csi-attacher"}) && i != (intent.Logs{Component: "csi-controller"}) {
		t.Errorf("%v", i)
	}
	l.SetFilter("WEST stopped")
	if i, _ := press(l, "enter"); i != (intent.Logs{Component: "node/worker-west-1"}) || strings.Contains(seen(l), "ccm") {
		t.Errorf("%v\n%s", i, seen(l))
	}
	if i, _ := l.Click(1, 1); i != (intent.Logs{Component: "node/worker-west-1"}) {
		t.Errorf("%v", i)
	}
	if i, taken := l.Click(1, 5); i != nil || !taken {
		t.Errorf("%v", i)
	}
	l.SetFilter("nope")
	if i, _ := press(l, "enter"); i != nil || !strings.Contains(seen(l), "nothing matches nope") || enabled(l) != "" {
		t.Errorf("%v %s\n%s", i, enabled(l), seen(l))
	}
	l.SetFilter("")
	if w, h := l.Size(200, 57); w > 80 || h < 10 {
		t.Errorf("it wants %dx%d", w, h)
	}
	none := pane.NewList("Which?", nil)
	none.SetSize(40, 3)
	if !strings.Contains(seen(none), "there is nothing to choose") {
		t.Error(seen(none))
	}
}

func sections() []pane.Section {
	b := func(k, what string) key.Binding { return key.NewBinding(key.WithKeys(k), key.WithHelp(k, what)) }
	off := b("X", "has no effect now")
	off.SetEnabled(false)
	var many []key.Binding
	for _, k := range "abcdefghijklmnop" {
		many = append(many, b(string(k), "do something with "+string(k)))
	}
	return []pane.Section{
		{Title: "Everywhere", Bindings: append(many, off)},
		{Title: "Overview", Bindings: []key.Binding{b("space", "open or close"), b("enter", "details"), b("shift+tab", "screen before")}},
		{Title: "Nothing", Bindings: []key.Binding{off}},
		{Title: "Timeline", Bindings: many[:5]},
		{Title: "Prompt", Bindings: many[5:9]},
	}
}

func TestHelp(t *testing.T) {
	h := pane.NewHelp(sections())
	frames(t, "help", h)
	colored(t, "help", h)
	h.SetSize(80, 8)
	for _, s := range []string{"has no effect now", "Nothing"} {
		if strings.Contains(seen(h), s) {
			t.Errorf("%s is shown", s)
		}
	}
	press(h, "G")
	if !strings.Contains(seen(h), "100%") {
		t.Error(seen(h))
	}
	h = pane.NewHelp(sections()[1:2])
	h.SetSize(80, 8)
	if strings.Contains(seen(h), "Everywhere") || enabled(h) != "" {
		t.Errorf("%s\n%s", enabled(h), seen(h))
	}
	if i, taken := h.Click(1, 1); i != nil || !taken {
		t.Errorf("%v", i)
	}
	h = pane.NewHelp(nil)
	h.SetSize(80, 8)
	frames(t, "help-empty", h)
}

func BenchmarkLogs(b *testing.B) {
	l := pane.NewLogs("ccm")
	l.SetSize(200, 57)
	press(l, "z")
	l.SetFilter("worker-1")
	l.Append(logLines(0, pane.Most))
	more := logLines(0, 10)
	for b.Loop() {
		l.Append(more)
		l.View()
	}
}

func BenchmarkWhy(b *testing.B) {
	w := pane.NewWhy(subject())
	w.SetSize(200, 57)
	e := explanation()
	for b.Loop() {
		w.SetExplanation(e, nil)
		w.View()
	}
}

var _ = []panel.Filterer{(*pane.Details)(nil), (*pane.Why)(nil), (*pane.Logs)(nil), (*pane.List)(nil), (*pane.Help)(nil)}
