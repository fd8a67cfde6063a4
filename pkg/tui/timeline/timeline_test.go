package timeline

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

var (
	_ panel.Panel    = (*Screen)(nil)
	_ panel.Filterer = (*Screen)(nil)
	_ panel.Selector = (*Screen)(nil)
	_ panel.Chooser  = (*Screen)(nil)
	_ panel.Clicker  = (*Screen)(nil)
)

// screen is one of a size that shows a state.
func screen(width, height int, state *fold.State) *Screen {
	s := New()
	s.SetSize(width, height)
	s.SetTheme(theme.Mono())
	s.SetState(state)
	return s
}

// story is a screen that shows the story at a second.
func story(second int) *Screen { return screen(100, 27, tuitest.At(time.Duration(second)*time.Second)) }

// log is a state of events: node.x 1 ← … or with gaps. Each is an event a second, of its Seq, cause and kind.
func log(events ...event.Event) *fold.State {
	s := fold.New(tuitest.About(), 0)
	s.Apply(tuitest.Began, api.Update{Synced: true})
	report(s, events...)
	return s
}

func report(s *fold.State, events ...event.Event) {
	for _, e := range events {
		if e.Time.IsZero() {
			e.Time = tuitest.Began.Add(time.Duration(e.Seq) * time.Second)
		}
		if e.Kind == "" {
			e.Kind = fmt.Sprintf("thing.%d", e.Seq)
		}
		s.Apply(e.Time, api.Update{Event: &e})
	}
}

// seen is the rows of a screen, without colors and times.
func seen(s *Screen) []string {
	head, rows, _ := s.heights()
	var all []string
	for _, l := range strings.Split(ansi.Strip(s.View()), "\n")[head : head+rows] {
		if l = strings.TrimSpace(l); l != "" {
			all = append(all, l)
		}
	}
	return all
}

func title(s *Screen) string {
	return strings.TrimSpace(strings.SplitN(ansi.Strip(s.View()), "\n", 2)[0])
}

func kind(t *testing.T, s *Screen) string {
	t.Helper()
	e, ok := s.event()
	if !ok {
		return ""
	}
	return e.Kind
}

func TestFrames(t *testing.T) {
	for _, size := range [][2]int{{80, 21}, {100, 27}, {140, 42}, {200, 57}} {
		name := fmt.Sprintf("%dx%d", size[0], size[1])
		s := screen(size[0], size[1], tuitest.At(40*time.Second))
		tuitest.Fills(t, s.View(), size[0], size[1])
		tuitest.Golden(t, "log-"+name, s.View())
		tuitest.Press(s.Handle, "i", "enter")
		tuitest.Fills(t, s.View(), size[0], size[1])
		tuitest.Golden(t, "chain-"+name, s.View())
	}
}

func TestColors(t *testing.T) {
	for _, th := range []*theme.Theme{theme.Dark(), theme.Light(), theme.Mono()} {
		s := screen(140, 20, tuitest.At(30*time.Second))
		s.SetTheme(th)
		s.SetFilter("level:warning")
		tuitest.Colored(t, "colors-"+th.Name, s.View())
	}
}

func TestFitsAnywhere(t *testing.T) {
	state := tuitest.At(75 * time.Second)
	for _, width := range []int{1, 20, 33, 49, 50, 69, 70, 95, 96, 129, 130, 300} {
		for _, height := range []int{1, 2, 3, 5, 15, 16, 39, 40} {
			s := screen(width, height, state)
			tuitest.Fills(t, s.View(), width, height)
			s.ShowChain(100)
			tuitest.Fills(t, s.View(), width, height)
		}
	}
	s := New()
	s.SetSize(40, 5)
	tuitest.Fills(t, s.View(), 40, 5)
	s.SetState(fold.New(tuitest.About(), 0))
	tuitest.Fills(t, s.View(), 40, 5)
	if !strings.Contains(s.View(), "nothing has happened yet") {
		t.Error(s.View())
	}
	for _, k := range []string{"up", "G", "enter", "c", "space", "i", "I", "t", "b", "pgup"} {
		tuitest.Press(s.Handle, k)
	}
	tuitest.Fills(t, s.View(), 40, 5)
}

// What is taken in bit by bit is what is there when all is taken in at once, filtered or not.
func TestBitByBit(t *testing.T) {
	for _, filter := range []string{"", "worker-west-1", "plane:calls"} {
		bits := screen(140, 57, tuitest.At(0))
		bits.SetFilter(filter)
		state := tuitest.At(0)
		bits.SetState(state)
		for d := time.Duration(0); d < tuitest.Length; d += 500 * time.Millisecond {
			tuitest.To(state, d, d+500*time.Millisecond)
			bits.SetState(state)
		}
		whole := screen(140, 57, tuitest.At(tuitest.Length))
		whole.SetFilter(filter)
		if len(bits.shown.rows) < 5 {
			t.Errorf("%q: %d rows", filter, len(bits.shown.rows))
		}
		if d := cmp.Diff(strings.Split(ansi.Strip(whole.View()), "\n"), strings.Split(ansi.Strip(bits.View()), "\n")); d != "" {
			t.Errorf("%q (-at once +bit by bit):\n%s", filter, d)
		}
	}
}

// A log that forgets is shown as far as it remembers.
func TestForgets(t *testing.T) {
	state := fold.New(tuitest.About(), 10)
	state.Apply(tuitest.Began, api.Update{Synced: true})
	s := screen(100, 10, state)
	for seq := uint64(1); seq <= 100; seq++ {
		report(state, event.Event{Seq: seq, Cause: seq - 1})
		state.Apply(state.Now(), api.Update{Calls: &api.Calls{VCenter: "us", Client: "govc", Method: "Login", Calls: seq}})
		s.SetState(state)
		if seq == 95 {
			tuitest.Press(s.Handle, "g")
		}
	}
	first := state.World().Events()[0].Seq
	if first < 80 {
		t.Fatalf("the state has kept all from %d on", first)
	}
	if r := s.shown.rows[0]; r.seq < first {
		t.Errorf("row 0 is event %d; the state has %d as its first", r.seq, first)
	}
	events, bursts := 0, 0
	for _, r := range s.shown.rows {
		if r.isEvent() {
			events++
		} else if r.burst != nil {
			bursts++
		}
	}
	if events != len(state.World().Events()) || bursts < events-1 || bursts > events+1 {
		t.Errorf("%d events and %d bursts of %d events", events, bursts, len(state.World().Events()))
	}
	if want := fmt.Sprintf("%d older not kept", first-1); !strings.Contains(title(s), want) {
		t.Errorf("title %q, want %q", title(s), want)
	}
	if s.shown.cursor != 0 {
		t.Errorf("the cursor is in row %d", s.shown.cursor)
	}
	if n := len(s.causes.links); n > 2*len(state.World().Events()) {
		t.Errorf("%d causes are remembered", n)
	}
	s.ShowChain(100)
	if got := title(s); !strings.Contains(got, fmt.Sprintf("its cause #%d is not kept", first-1)) {
		t.Errorf("title %q", got)
	}
}

func TestLost(t *testing.T) {
	s := screen(80, 21, log(event.Event{Seq: 1}, event.Event{Seq: 2}, event.Event{Seq: 415}))
	rows := seen(s)
	if len(rows) != 4 || !strings.Contains(rows[2], "≠ 412 events lost") {
		t.Errorf("%q", rows)
	}
	report(s.state, event.Event{Seq: 418})
	s.SetState(s.state)
	if rows = seen(s); len(rows) != 6 || !strings.Contains(rows[4], "≠ 2 events lost") {
		t.Errorf("%q", rows)
	}
	if tuitest.Press(s.Handle, "k"); kind(t, s) != "" {
		t.Error("a gap is an event")
	}
	if !strings.Contains(ansi.Strip(s.View()), "These happened between") {
		t.Error("the foot does not say what a gap is")
	}
	if i, _ := tuitest.Press(s.Handle, "enter"); i == nil {
		t.Error("enter on a gap says nothing")
	}
}

// Text of elsewhere moves no cursor and starts no new line.
func TestHostile(t *testing.T) {
	bad := "a\x1b[2Jb\nc\u202ed"
	s := screen(140, 42, log(event.Event{Seq: 1, Kind: bad, Message: bad, Object: event.Object{Kind: bad, VCenter: bad, Name: bad}}))
	s.SetFilter("a")
	for range 2 {
		tuitest.Fills(t, s.View(), 140, 42)
		if strings.ContainsAny(ansi.Strip(s.View()), "\x1b\u202e") || strings.Contains(s.View(), "\x1b[2J") {
			t.Errorf("%q", s.View())
		}
		s.ShowChain(1)
	}
}

func TestReplayGoesBack(t *testing.T) {
	s := story(40)
	tuitest.Press(s.Handle, "i", "enter")
	s.SetState(tuitest.At(25 * time.Second)) // another state
	if got := title(s); !strings.Contains(got, "fault.injected") {
		t.Errorf("the chain is gone: %q", got)
	}
	s.SetState(tuitest.At(5 * time.Second))
	if got := title(s); strings.Contains(got, "chain") {
		t.Errorf("a chain of what has not happened yet: %q", got)
	}
	if n := len(s.state.World().Events()); s.shown.rows[len(s.shown.rows)-1].seq != uint64(n) {
		t.Error("rows of before")
	}
}

func TestChoose(t *testing.T) {
	s := story(40)
	for _, tc := range []struct {
		subject api.Subject
		kind    string
	}{
		{api.Subject{Kind: "vm", VCenter: "us", Name: "worker-west-1"}, "guest.down"},
		{api.Subject{Kind: "vm", Name: "worker-west-1"}, "guest.down"},
		{api.Subject{Kind: "vm", VCenter: "eu", Name: "worker-west-1"}, ""},
		{api.Subject{Kind: "node", Name: "worker-west-1"}, "node.tainted"},
		{api.Subject{Kind: "volume", Name: "default/data-web-2"}, "volume.attached"},
		{api.Subject{Kind: "component", Name: "ccm"}, "child.started"},
	} {
		tuitest.Press(s.Handle, "G")
		ok := s.Choose(tc.subject)
		if ok != (tc.kind != "") || ok && kind(t, s) != tc.kind {
			t.Errorf("%+v: %t, %s", tc.subject, ok, kind(t, s))
		}
		if got, _ := s.Subject(); ok && tc.subject.Kind != "volume" && got.Name != tc.subject.Name {
			t.Errorf("%+v is selected, want %+v", got, tc.subject)
		}
		if ok != s.paused {
			t.Errorf("%+v: paused is %t", tc.subject, s.paused)
		}
	}
}

func TestCallsInTheLog(t *testing.T) {
	s := story(40)
	tuitest.Press(s.Handle, "G")
	r, _ := s.shown.selected()
	if r.burst == nil {
		t.Fatalf("the last row at 40 s is no burst: %q", seen(s))
	}
	if got, ok := s.Subject(); !ok || got != (api.Subject{Kind: "vcenter", Name: r.burst.vcenter}) {
		t.Errorf("%+v", got)
	}
	if i, _ := tuitest.Press(s.Handle, "enter"); i != (intent.Go{Screen: intent.Calls}) {
		t.Errorf("enter: %+v", i)
	}
	tuitest.To(s.state, 40*time.Second, 75*time.Second) // eu is down
	tuitest.Press(s.Handle, "b", "b")
	if s.shown.bursts != 0 || !strings.Contains(title(s), "no calls") {
		t.Errorf("%d bursts, %q", s.shown.bursts, title(s))
	}
	s.SetState(s.state)
	if s.shown.bursts != 0 {
		t.Error("new calls are shown, although none are to be")
	}
	tuitest.Press(s.Handle, "b")
	all := s.shown.bursts
	tuitest.Press(s.Handle, "b")
	if s.shown.bursts == 0 || s.shown.bursts >= all || !strings.Contains(title(s), "failed calls only") {
		t.Errorf("%d of %d bursts have failed, %q", s.shown.bursts, all, title(s))
	}
	tuitest.Press(s.Handle, "b", "b")
	now := s.state.Now()
	s.state.Apply(now, api.Update{Calls: &api.Calls{VCenter: "us", Client: own, Method: "Login", Calls: 10}})
	s.SetState(s.state)
	if r, _ := s.shown.selected(); r.burst != nil && r.burst.client == own {
		t.Error("the sandbox's own calls are shown")
	}
}

// many is a log of n events.
func many(n int) []event.Event {
	events := make([]event.Event, n)
	for i := range events {
		events[i].Seq = uint64(i + 1)
	}
	return events
}

func TestMoves(t *testing.T) {
	s := screen(80, 14, log(many(100)...)) // 12 rows
	for _, step := range []struct {
		keys string
		want string
	}{
		{"", "thing.100"},
		{"k", "thing.99"},
		{"up up", "thing.97"},
		{"j", "thing.98"},
		{"down", "thing.99"},
		{"pgup", "thing.87"},
		{"ctrl+u", "thing.81"},
		{"ctrl+d pgdown", "thing.99"},
		{"g", "thing.1"},
		{"home k", "thing.1"},
		{"end", "thing.100"},
		{"g G", "thing.100"},
	} {
		for k := range strings.FieldsSeq(step.keys) {
			if i, ok := tuitest.Press(s.Handle, k); !ok || i != nil {
				t.Errorf("%s: %v, %t", k, i, ok)
			}
		}
		if got := kind(t, s); got != step.want {
			t.Errorf("%q: %s, want %s", step.keys, got, step.want)
		}
	}
	for _, k := range []string{"?", ":", "/", "1", "tab", "esc", "q", "l", "w", "y", "p", "f", "o", "P", "<", ">", "{", "}"} {
		if _, ok := tuitest.Press(s.Handle, k); ok {
			t.Errorf("%s is the root model's", k)
		}
	}
}

func TestFollows(t *testing.T) {
	s := screen(80, 21, log(many(50)...))
	next := uint64(50)
	more := func(n int) {
		for range n {
			next++
			report(s.state, event.Event{Seq: next})
		}
		s.SetState(s.state)
	}
	check := func(when, want, said string) {
		t.Helper()
		if got := kind(t, s); got != want {
			t.Errorf("%s: %s is selected, want %s", when, got, want)
		}
		if got := title(s); !strings.HasPrefix(got, said) {
			t.Errorf("%s: title %q, want %q", when, got, said)
		}
	}
	more(3)
	check("at first", "thing.53", "● following")
	tuitest.Press(s.Handle, "k")
	more(12)
	check("moved up", "thing.52", "○ paused, 12 new")
	tuitest.Press(s.Handle, "G")
	more(1)
	check("G", "thing.66", "● following")
	tuitest.Press(s.Handle, "t")
	check("t", "thing.66", "○ paused  ")
	more(1)
	check("t", "thing.66", "○ paused, 1 new")
	tuitest.Press(s.Handle, "t")
	check("t again", "thing.67", "● following")
	tuitest.Press(s.Handle, "t")
	more(2)
	tuitest.Press(s.Handle, "j", "j")
	check("down to the end", "thing.69", "○ paused, 2 new")
	tuitest.Press(s.Handle, "j")
	check("further", "thing.69", "● following")
	tuitest.Press(s.Handle, "k")
	s.SetFilter("kind:thing.1*")
	more(100)
	check("filtered, to the nearest", "thing.19", "○ paused, 70 new")
	s.SetFilter("")
	check("not any more", "thing.19", "○ paused  ")
}

func TestFilterIsShown(t *testing.T) {
	s := screen(100, 27, log(many(50)...))
	s.SetFilter("thing.1")
	if got := title(s); got != "● following  50 events, 11 rows match thing.1" {
		t.Errorf("%q", got)
	}
	s.SetFilter("nobody")
	if got := seen(s); len(got) != 1 || got[0] != "nothing matches nobody" {
		t.Errorf("%q", got)
	}
}

func TestSpaceFiltersByObject(t *testing.T) {
	s := screen(80, 21, log(
		event.Event{Seq: 1, Object: event.Object{Kind: "VolumeAttachment", Name: "pvc-1 at worker-1"}},
		event.Event{Seq: 2},
		event.Event{Seq: 3, Cause: 1, Object: event.Object{Kind: "VM", VCenter: "us", Name: "worker-1"}},
	))
	press := func() intent.Filter {
		t.Helper()
		i, _ := tuitest.Press(s.Handle, "space")
		f, ok := i.(intent.Filter)
		if !ok {
			t.Fatalf("%+v", i)
		}
		s.SetFilter(f.Text)
		return f
	}
	if f := press(); f.Text != "object:worker-1" || len(s.shown.rows) != 2 {
		t.Errorf("%q: %d rows", f.Text, len(s.shown.rows))
	}
	if f := press(); f.Text != "" || len(s.shown.rows) != 3 {
		t.Errorf("%q: %d rows", f.Text, len(s.shown.rows))
	}
	tuitest.Press(s.Handle, "g")
	if f := press(); f.Text != `object:"pvc-1 at worker-1"` || len(s.shown.rows) != 1 {
		t.Errorf("%q: %d rows", f.Text, len(s.shown.rows))
	}
	press()
	tuitest.Press(s.Handle, "g", "j")
	if i, _ := tuitest.Press(s.Handle, "space"); i != (intent.Say{Text: "the row is not about an object", Bad: true}) {
		t.Errorf("%+v", i)
	}
	tuitest.Press(s.Handle, "G", "enter")
	if f := press(); f.Text != "object:worker-1" || s.chain != nil {
		t.Errorf("in a chain: %q, %v", f.Text, s.chain)
	}
}

func TestFaults(t *testing.T) {
	s := story(90)
	var got []string
	for _, k := range []string{"i", "i", "i", "I", "I", "i"} {
		i, ok := tuitest.Press(s.Handle, k)
		if !ok {
			t.Errorf("%s is not taken", k)
		}
		e, _ := s.event()
		got = append(got, fmt.Sprintf("%s %s %s %v", k, e.Kind, e.Object.Name, i))
	}
	if d := cmp.Diff([]string{
		"i fault.injected eu <nil>", "i fault.injected worker-west-1 <nil>",
		"i fault.injected worker-west-1 {no injected fault above true}",
		"I fault.injected eu <nil>", "I fault.injected eu {no injected fault below true}", "i fault.injected worker-west-1 <nil>",
	}, got); d != "" {
		t.Error(d)
	}
	if !s.paused {
		t.Error("it still follows")
	}
	s.SetFilter("object:eu")
	tuitest.Press(s.Handle, "g")
	tuitest.Press(s.Handle, "I")
	if e, _ := s.event(); e.Object.Name != "eu" || e.Kind != "fault.injected" {
		t.Errorf("filtered: %s %s", e.Kind, e.Object.Name)
	}
	if i, _ := tuitest.Press(s.Handle, "i"); i == nil {
		t.Error("a fault that the filter hides was gone to")
	}
}

func TestMouse(t *testing.T) {
	s := screen(80, 21, log(many(50)...)) // 15 rows from line 2 on
	if i, ok := s.Click(5, 4); i != nil || !ok || kind(t, s) != "thing.38" || !s.paused {
		t.Errorf("%v, %t: %s", i, ok, kind(t, s))
	}
	s.Wheel(3)
	if kind(t, s) != "thing.41" {
		t.Error(kind(t, s))
	}
	s.Wheel(-3)
	if s.Click(5, 4); s.chain == nil {
		t.Error("a second click shows no chain")
	}
	s.Click(0, 10) // nothing is there
	if s.Click(0, 2); s.chain != nil {
		t.Error("a click on the event in its chain does not lead back")
	}
	if s.Click(0, 0); s.paused {
		t.Error("a click on the title does not follow")
	}
	for _, y := range []int{-1, 17, 40} {
		if _, ok := s.Click(0, y); ok {
			t.Errorf("line %d was clicked", y)
		}
	}
	if _, ok := s.Click(0, 1); !ok {
		t.Error("the header is not part of it")
	}
	New().Wheel(1) // without a state
}

// What the help says is what keys do: all that are enabled are taken.
func TestBindings(t *testing.T) {
	s := story(40)
	for _, prepare := range []string{"", "i", "enter", "esc", "t", "b"} {
		if prepare != "" {
			tuitest.Press(s.Handle, prepare)
		}
		for _, b := range s.Bindings() {
			if !b.Enabled() {
				continue
			}
			if h := b.Help(); h.Key == "" || h.Desc == "" {
				t.Errorf("%v has no help", b.Keys())
			}
			for _, k := range b.Keys() {
				copied := *s
				if s.chain != nil {
					chain := *s.chain
					copied.chain = &chain
				}
				if _, ok := tuitest.Press(copied.Handle, k); !ok {
					t.Errorf("after %q: %s is not taken", prepare, k)
				}
			}
		}
	}
	for _, b := range screen(80, 21, tuitest.At(-time.Second)).Bindings() {
		if b.Enabled() && b.Help().Key != "t" && b.Help().Key != "b" {
			t.Errorf("%s is enabled where there is nothing", b.Help().Key)
		}
	}
}
