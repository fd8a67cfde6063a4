package calls

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

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
	_ panel.Writer   = (*Screen)(nil)
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
func story(second int) *Screen {
	return screen(140, 42, tuitest.At(time.Duration(second)*time.Second))
}

// seen is the rows of the table, each cut after so many words.
func seen(s *Screen, words int) []string {
	var all []string
	for _, l := range strings.Split(ansi.Strip(s.table.View()), "\n")[1:] {
		if f := strings.Fields(l); len(f) > 0 {
			all = append(all, strings.Join(f[:min(words, len(f))], " "))
		}
	}
	return all
}

func line(s *Screen, n int) string {
	return strings.TrimSpace(strings.Split(ansi.Strip(s.View()), "\n")[n])
}

func TestFrames(t *testing.T) {
	for _, size := range [][2]int{{80, 21}, {100, 27}, {140, 42}, {200, 57}} {
		name := fmt.Sprintf("%dx%d", size[0], size[1])
		s := screen(size[0], size[1], tuitest.At(79*time.Second)) // eu is down
		tuitest.Fills(t, s.View(), size[0], size[1])
		tuitest.Golden(t, "calls-"+name, s.View())
		tuitest.Press(s.Handle, "v")
		tuitest.Fills(t, s.View(), size[0], size[1])
		tuitest.Golden(t, "clients-"+name, s.View())
	}
}

func TestColors(t *testing.T) {
	for _, th := range []*theme.Theme{theme.Dark(), theme.Light(), theme.Mono()} {
		s := screen(120, 18, tuitest.At(79*time.Second))
		s.SetTheme(th)
		s.SetFilter("eu")
		tuitest.Colored(t, "colors-"+th.Name, s.View())
	}
}

func TestFitsAnywhere(t *testing.T) {
	state := tuitest.At(79 * time.Second)
	for _, width := range []int{1, 20, 50, 79, 103, 300} {
		for _, height := range []int{1, 2, 3, 5, 15, 16, 40} {
			tuitest.Fills(t, screen(width, height, state).View(), width, height)
		}
	}
	s := New()
	s.SetSize(60, 20)
	tuitest.Fills(t, s.View(), 60, 20)
	s.SetState(fold.New(tuitest.About(), 0))
	for _, k := range []string{"j", "G", "s", "v", "D", "S", "space"} {
		tuitest.Press(s.Handle, k)
	}
	tuitest.Fills(t, s.View(), 60, 20)
	if !strings.Contains(s.View(), "no vCenter has been called yet") {
		t.Error(s.View())
	}
}

// Text of elsewhere moves no cursor and starts no new line.
func TestHostile(t *testing.T) {
	bad := "a\x1b[2Jb\nc\u202ed"
	state := fold.New(tuitest.About(), 0)
	state.Apply(tuitest.Began, api.Update{VCenter: &api.VCenter{Name: bad, Gate: bad}}, api.Update{Synced: true})
	state.Apply(tuitest.Began, api.Update{Calls: &api.Calls{VCenter: bad, Client: bad, Method: bad, Calls: 3, Errors: 1, LastError: bad}})
	s := screen(140, 42, state)
	if got, want := s.slow(), (intent.Prompt{Text: "vcenter slow " + intent.Quote(bad) + " --delay 2s"}); got != want {
		t.Errorf("%q", got)
	}
	s.SetFilter(bad + "x")
	if view := s.View(); strings.Contains(view, "\x1b[2J") || !strings.Contains(view, "no call matches") {
		t.Errorf("%q", view)
	}
	s.SetFilter("a")
	for range groupings {
		tuitest.Fills(t, s.View(), 140, 42)
		if strings.ContainsAny(ansi.Strip(s.View()), "\x1b\u202e") || strings.Contains(s.View(), "\x1b[2J") {
			t.Errorf("%q", s.View())
		}
		tuitest.Press(s.Handle, "v")
	}
}

func TestSort(t *testing.T) {
	s := story(79)
	s.SetFilter("eu")
	for i, want := range [][]string{
		{"eu vsphere-cloud-provider Login", "eu vsphere-csi-controller CnsQueryVolume"},
		{"eu vsphere-cloud-provider WaitForUpdatesEx", "eu vsphere-csi-controller RetrievePropertiesEx"},
		{"eu vsphere-cloud-provider Login", "eu vsphere-csi-controller CnsQueryVolume"},
		{"eu vsphere-csi-controller CnsCreateVolume", "eu vsphere-csi-controller CnsAttachVolume"},
		{"eu vsphere-cloud-provider CreatePropertyCollector", "eu vsphere-cloud-provider Login"},
	} {
		if order(i) != s.order || !strings.Contains(line(s, 0), "by "+order(i).String()) {
			t.Errorf("it is sorted by %s, want %s: %q", s.order, order(i), line(s, 0))
		}
		if d := cmp.Diff(want, seen(s, 3)[:2]); d != "" {
			t.Errorf("by %s: %s", s.order, d)
		}
		tuitest.Press(s.Handle, "s")
	}
	if s.order != byRate {
		t.Errorf("after the last, it is sorted by %s", s.order)
	}
}

// The sums of every grouping are those of all rows.
func TestGroups(t *testing.T) {
	s := story(79)
	var calls, errors uint64
	for _, c := range s.state.Calls() {
		calls, errors = calls+c.Calls.Calls, errors+c.Errors
	}
	for _, want := range []struct {
		by   grouping
		rows []string
	}{
		{byCall, nil},
		{byClient, []string{"(2) vsphere-cloud-provider 5", "(2) vsphere-csi-controller 6", "us govc 2"}},
		{byMethod, nil},
		{byVCenter, []string{"eu 2 clients", "us 3 clients"}},
	} {
		if s.by != want.by {
			t.Fatalf("by %q, want %q", s.by, want.by)
		}
		var sum, failed, remembered uint64
		for _, r := range s.rows {
			sum, failed = sum+r.calls, failed+r.errors
			for _, n := range r.history {
				remembered += n
			}
		}
		if sum != calls || failed != errors || remembered == 0 || remembered > calls {
			t.Errorf("%q: %d calls, %d errors, %d in the last minute, want %d and %d", s.by, sum, failed, remembered, calls, errors)
		}
		got := seen(s, 3)
		for i, row := range want.rows {
			if !contains(got, row) {
				t.Errorf("%q: row %d, %q, is not among %q", s.by, i, row, got)
			}
		}
		tuitest.Press(s.Handle, "v")
	}
	if s.by != byCall {
		t.Error("after the last grouping comes none")
	}
}

func contains(all []string, row string) bool {
	for _, s := range all {
		if strings.HasPrefix(s, row) {
			return true
		}
	}
	return false
}

func TestSum(t *testing.T) {
	at := time.Unix(1000, 0)
	calls := []fold.Call{
		{Calls: api.Calls{VCenter: "us", Client: "ccm", Method: "Login", Calls: 10, Errors: 2, Hits: 1, Latency: api.Duration(time.Second), Last: at, LastError: "old"}, Rate: 3, Failing: 1, Mean: 10 * time.Millisecond},
		{Calls: api.Calls{VCenter: "eu", Client: "ccm", Method: "Login", Calls: 30, Latency: api.Duration(3 * time.Second), Last: at.Add(time.Second)}, Rate: 1, Mean: 50 * time.Millisecond},
		{Calls: api.Calls{VCenter: "eu", Client: "ccm", Method: "Logout", Calls: 5, Errors: 5, Latency: api.Duration(time.Second), Last: at.Add(2 * time.Second), LastError: "new"}},
	}
	all := func(*fold.Call) bool { return true }
	got := sum(calls, nil, byClient, all, at)
	if len(got) != 1 {
		t.Fatalf("%d rows", len(got))
	}
	want := row{
		key: "ccm", client: "ccm", vcenters: 2, clients: 1, methods: 2, calls: 45, errors: 7, hits: 1, total: 5 * time.Second,
		rate: 4, answered: 4, failing: 1, mean: 20 * time.Millisecond, recent: true, last: at.Add(2 * time.Second), failed: "new", failedLast: at.Add(2 * time.Second),
	}
	if d := cmp.Diff(want, *got[0], cmp.AllowUnexported(row{})); d != "" {
		t.Error(d)
	}
	for _, r := range sum(calls, nil, byCall, all, at) {
		if r.method == "Logout" && (r.recent || r.mean != 200*time.Millisecond) {
			t.Errorf("the mean of a row without calls is %s, want that of all", r.mean)
		}
	}
}

func TestHistory(t *testing.T) {
	now := time.Unix(1_000_002, 0) // two seconds into a slot
	bursts := []fold.Burst{
		{At: now.Add(-time.Minute), Calls: 100},
		{At: now.Add(-57 * time.Second), Calls: 8},
		{At: now.Add(-30 * time.Second), Calls: 1},
		{At: now.Add(-3 * time.Second), Calls: 2},
		{At: now, Calls: 2},
		{At: now, Client: "another", Calls: 7},
	}
	r := &row{}
	remember(map[string]*row{byCall.key("", "", ""): r}, bursts, byCall, now)
	if d := cmp.Diff(history{0: 8, 5: 1, 10: 2, 11: 2}, r.history); d != "" {
		t.Error(d)
	}
	if got := r.history.spark(); got != "█    ▁    ▂▂" {
		t.Errorf("%q", got)
	}
	if got := (history{}).spark(); got != strings.Repeat(" ", slots) {
		t.Errorf("%q", got)
	}
}

func TestNumbers(t *testing.T) {
	for r, want := range map[float64]string{0: "-", 0.04: "0.04", 0.1: "0.1", 12.34: "12.3", 100.4: "100", 1234: "1,234"} {
		if got := rate(r); got != want {
			t.Errorf("rate %g: %q, want %q", r, got, want)
		}
	}
	for n, want := range map[uint64]string{0: "0", 99_999: "99,999", 100_000: "100k", 9_999_999: "9,999k", 10_000_000: "10M"} {
		if got := number(n); got != want || len(got) > 7 {
			t.Errorf("number %d: %q, want %q", n, got, want)
		}
	}
}

func TestFilter(t *testing.T) {
	s := story(79)
	for filter, want := range map[string]int{"": 22, "EU login": 2, "refused": 3, "govc": 2, "nobody": 0} {
		if s.SetFilter(filter); len(s.rows) != want {
			t.Errorf("%q: %d rows, want %d", filter, len(s.rows), want)
		}
	}
	if s.SetFilter("nobody"); !strings.Contains(line(s, 2), "no call matches nobody") {
		t.Errorf("%q", line(s, 2))
	}
}

// TestTimePasses: rates fall without updates, and the selection stays.
func TestTimePasses(t *testing.T) {
	s := story(79)
	tuitest.Press(s.Handle, "j", "j")
	was, _ := s.selected()
	if s.rates["us"] == 0 {
		t.Fatal("us is not called")
	}
	s.state.Tick(s.state.Now().Add(time.Minute))
	s.SetState(s.state)
	is, ok := s.selected()
	if !ok || is.key != was.key {
		t.Errorf("%+v is selected, want %+v", is, was)
	}
	if s.rates["us"] != 0 || is.rate != 0 {
		t.Errorf("us is called %g times a second", s.rates["us"])
	}
}

func TestGates(t *testing.T) {
	s := story(79)
	if got := line(s, 0); !strings.HasPrefix(got, "eu ✗ down 0.9/s   us ● up 0.8/s") {
		t.Errorf("%q", got)
	}
	for _, tc := range []struct {
		vcenter, gate string
		want          intent.Intent
	}{
		{"eu", "down", intent.Gate{GateRequest: api.GateRequest{VCenter: "eu", Mode: "up"}}},
		{"us", "up", intent.Gate{GateRequest: api.GateRequest{VCenter: "us", Mode: "down"}}},
		{"us", "slow", intent.Gate{GateRequest: api.GateRequest{VCenter: "us", Mode: "up"}}},
		{"us", "hung", intent.Gate{GateRequest: api.GateRequest{VCenter: "us", Mode: "up"}}},
	} {
		s.state.Apply(s.state.Now(), api.Update{VCenter: &api.VCenter{Name: tc.vcenter, Gate: tc.gate, Delay: api.Duration(2 * time.Second)}})
		if !s.Choose(api.Subject{Kind: "vcenter", Name: tc.vcenter}) {
			t.Fatalf("%s is not there", tc.vcenter)
		}
		if got, ok := tuitest.Press(s.Handle, "D"); !ok || got != tc.want {
			t.Errorf("%s is %s: %+v", tc.vcenter, tc.gate, got)
		}
		if got, ok := tuitest.Press(s.Handle, "S"); !ok || got != (intent.Prompt{Text: "vcenter slow " + tc.vcenter + " --delay 2s"}) {
			t.Errorf("%s: %+v", tc.vcenter, got)
		}
		if got, ok := s.Subject(); !ok || got != (api.Subject{Kind: "vcenter", Name: tc.vcenter}) {
			t.Errorf("%+v", got)
		}
		if tc.gate == "slow" && !strings.Contains(line(s, 0), "us ◐ slow +2s") {
			t.Errorf("%q", line(s, 0))
		}
	}
	s.Choose(api.Subject{Kind: "vcenter", Name: "us"})
	tuitest.Press(s.Handle, "v", "g") // clients of both
	for _, k := range []string{"D", "S"} {
		if got, _ := tuitest.Press(s.Handle, k); got != ofNone() {
			t.Errorf("%s: %+v", k, got)
		}
	}
	if _, ok := s.Subject(); ok {
		t.Error("a row of two vCenters is a subject")
	}
	if s.Choose(api.Subject{Kind: "vm", Name: "us"}) || s.Choose(api.Subject{Kind: "vcenter", Name: "none"}) {
		t.Error("what is not there was chosen")
	}
}

func TestSpaceFiltersByClient(t *testing.T) {
	s := story(79)
	s.Choose(api.Subject{Kind: "vcenter", Name: "us"})
	r, _ := s.selected()
	if i, ok := tuitest.Press(s.Handle, "space"); !ok || i != (intent.Filter{Text: r.client}) {
		t.Errorf("%+v", i)
	}
	s.SetFilter(r.client)
	if i, _ := tuitest.Press(s.Handle, "space"); i != (intent.Filter{}) {
		t.Errorf("again: %+v", i)
	}
	tuitest.Press(s.Handle, "v", "v", "v")
	s.SetFilter("")
	if i, _ := tuitest.Press(s.Handle, "space"); i != (intent.Say{Text: "select a row of one client", Bad: true}) {
		t.Errorf("a row of several: %+v", i)
	}
}

// The foot says how the last call that failed was answered.
func TestFoot(t *testing.T) {
	s := story(79)
	s.SetFilter("refused CnsQueryVolume")
	view := ansi.Strip(s.View())
	for _, want := range []string{"vsphere-csi-controller → eu  CnsQueryVolume", "4 failed", "the last: connection refused"} {
		if !strings.Contains(view, want) {
			t.Errorf("no %q in\n%s", want, view)
		}
	}
}

func TestMoves(t *testing.T) {
	s := screen(100, 12, tuitest.At(79*time.Second))
	tuitest.Press(s.Handle, "s", "s", "s", "s") // by name, which does not change
	at := func() int {
		for i, r := range byName.sorted(values(s.rows)) {
			if key, _ := s.table.Key(); r.key == key {
				return i
			}
		}
		return -1
	}
	tuitest.Press(s.Handle, "g")
	for _, step := range []struct {
		keys string
		want int
	}{{"", 0}, {"j down", 2}, {"k", 1}, {"up", 0}, {"pgdown", 10}, {"ctrl+d", 15}, {"ctrl+u", 10}, {"pgup", 0}, {"G", 21}, {"home", 0}, {"end", 21}, {"g", 0}} {
		for k := range strings.FieldsSeq(step.keys) {
			if i, ok := tuitest.Press(s.Handle, k); !ok || i != nil {
				t.Errorf("%s: %v, %t", k, i, ok)
			}
		}
		if got := at(); got != step.want {
			t.Errorf("%q: row %d, want %d", step.keys, got, step.want)
		}
	}
	if _, ok := s.Click(3, 4); !ok || at() != 2 {
		t.Errorf("a click: row %d", at())
	}
	if s.Wheel(3); at() != 5 {
		t.Errorf("a wheel: row %d", at())
	}
	if _, ok := s.Click(3, 1); !ok || s.order != byRate {
		t.Errorf("a click on the header sorts by %s", s.order)
	}
	for _, y := range []int{0, 12} {
		if _, ok := s.Click(0, y); ok {
			t.Errorf("line %d was clicked", y)
		}
	}
	for _, k := range []string{"?", ":", "/", "1", "tab", "esc", "q", "l", "w", "y", "p", "f", "o", "P", "<", ">", "{", "}"} {
		if _, ok := tuitest.Press(s.Handle, k); ok {
			t.Errorf("%s is the root model's", k)
		}
	}
}

// What the help says is what keys do: all that are enabled are taken.
func TestBindings(t *testing.T) {
	s := story(79)
	for range groupings {
		writes := 0
		for _, b := range s.Bindings() {
			if h := b.Help(); h.Key == "" || h.Desc == "" {
				t.Errorf("%v has no help", b.Keys())
			}
			for _, k := range b.Keys() {
				for _, w := range s.Writes() {
					if w == k {
						writes++
					}
				}
				if copied := *s; b.Enabled() {
					if _, ok := tuitest.Press(copied.Handle, k); !ok {
						t.Errorf("%s is not taken", k)
					}
				}
			}
		}
		if writes != len(s.Writes()) {
			t.Errorf("%d of the keys that change something are among the bindings, want %d", writes, len(s.Writes()))
		}
		tuitest.Press(s.Handle, "v", "g")
	}
}

func BenchmarkFrame(b *testing.B) {
	state := tuitest.Big(1000)
	s := screen(200, 57, state)
	s.SetTheme(theme.Dark())
	calls := state.Calls()
	for i := uint64(0); b.Loop(); i++ {
		b.StopTimer()
		for n := range 10 {
			row := calls[(int(i)+n)%len(calls)].Calls
			row.Calls += i
			row.Last = state.Now()
			state.Apply(state.Now().Add(10*time.Millisecond), api.Update{Calls: &row})
		}
		b.StartTimer()
		s.SetState(state)
		_ = s.View()
	}
}

// Enter opens the newest call of the row: of what a sum has in common.
func TestOpen(t *testing.T) {
	s := story(79)
	i, ok := tuitest.Press(s.Handle, "enter")
	e, is := i.(intent.Exchange)
	if r, _ := s.selected(); !ok || !is || e != (intent.Exchange{VCenter: r.vcenter, Client: r.client, Method: r.method}) || e.VCenter == "" || e.Client == "" || e.Method == "" {
		t.Errorf("enter is %#v", i)
	}
	tuitest.Press(s.Handle, "v")
	if i, _ := tuitest.Press(s.Handle, "enter"); i.(intent.Exchange).Client == "" || i.(intent.Exchange).Method != "" {
		t.Errorf("enter on a client is %#v", i)
	}
	if i, ok := tuitest.Press(screen(80, 20, fold.New(tuitest.About(), 0)).Handle, "enter"); i != nil || !ok {
		t.Errorf("enter on nothing is %#v", i)
	}
}
