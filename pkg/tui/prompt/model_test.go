package prompt_test

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/prompt"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

func kinds() []api.FaultKind {
	return []api.FaultKind{
		{Name: "vm.power-off", Short: "powers VMs off", Object: "VM"},
		{Name: "vm.hang", Short: "hangs guests", Object: "VM"},
		{Name: "vcenter.latency", Short: "answers late", Object: "VCenter", Params: []api.FaultParam{
			{Name: "delay", Short: "how late", Type: "duration"},
			{Name: "client", Short: "whose calls", Choices: []string{"ccm", "csi"}},
			{Name: "once", Short: "only the first", Type: "bool"},
		}},
		{Name: "csi.killed", Object: "Component"},
		{Name: "zone.outage", Object: "Zone"},
	}
}

// at is a line that knows the story at an offset.
func at(d time.Duration) *prompt.Model {
	m := prompt.New()
	m.SetState(tuitest.At(d))
	m.SetKinds(kinds())
	m.Command("")
	return m
}

// write types a text.
func write(m *prompt.Model, line string) {
	for _, k := range tuitest.Type(line) {
		m.Handle(k)
	}
}

// press presses keys and returns the last answer.
func press(m *prompt.Model, names ...string) (intent.Intent, bool) {
	return tuitest.Press(m.Handle, names...)
}

// seen is the line without colors, at a width.
func seen(m *prompt.Model, width int) string {
	return strings.TrimRight(ansi.Strip(m.View(width)), " ")
}

func TestCompletion(t *testing.T) {
	for _, tc := range []struct {
		typed string
		tabs  int
		want  string
	}{
		{"ove", 1, "overview "},
		{"ev", 1, "events"},
		{"cha", 1, "chain "},
		{"vm po", 1, "vm power-off"},
		{"vm po", 2, "vm power-on"},
		{"vm po", 3, "vm power-off"},
		{"vm po", -1, "vm power-on"},
		{"VM", 1, "vm "},
		{"volume", 1, "volumes"}, // not what is there already
		{"volume", 2, "volume"},
		{"vc d", 1, "vc down "},
		{"vm power-off cp", 1, "vm power-off cp-1 "},
		{"vm power-off eu-2", 1, "vm power-off worker-eu-2 "},
		{"vm power-off cp-1 cp", 1, "vm power-off cp-1 cp"}, // it is there
		{"vm power-off 'worker-eu-2", 1, "vm power-off worker-eu-2 "},
		{"vm move cp-1 --to esx-eu-1", 1, "vm move cp-1 --to esx-eu-1 "},
		{"vm move cp-1 --to=esx-eu-1", 1, "vm move cp-1 --to=esx-eu-1 "},
		{"vm move cp-1 --v", 1, "vm move cp-1 --vcenter "},
		{"vm move cp-1 --vcenter e", 1, "vm move cp-1 --vcenter eu "},
		{"vm destroy cp-1 --y", 1, "vm destroy cp-1 --y"}, // the UI asks
		{"vm -- cp", 1, "vm -- cp"},
		{"vm power-off -- cp", 1, "vm power-off -- cp-1 "},
		{"volume detach data-web-0", 1, "volume detach data-web-0 "},
		{"volume relocate data-web-0 --to local-e", 1, "volume relocate data-web-0 --to local-east"},
		{"taint out-of-service worker-eu-1", 1, "taint out-of-service worker-eu-1 "},
		{"heal f", 1, "heal f1 "},
		{"logs cc", 1, "logs ccm "},
		{"fault inject vm.p", 1, "fault inject vm.power-off "},
		{"inject hang", 1, "inject vm.hang "},
		{"inject vm.hang cp", 1, "inject vm.hang cp-1 "},
		{"inject vcenter.latency e", 1, "inject vcenter.latency eu "},
		{"inject zone.outage us-w", 1, "inject zone.outage us-west "},
		{"inject csi.killed csi-at", 1, "inject csi.killed csi-attacher "},
		{"inject vcenter.latency us --set d", 1, "inject vcenter.latency us --set delay="},
		{"inject vcenter.latency us --set client=c", 2, "inject vcenter.latency us --set client=csi"},
		{"inject vcenter.latency us --set once=t", 1, "inject vcenter.latency us --set once=true "},
		{"inject vcenter.latency us --mode a", 1, "inject vcenter.latency us --mode all "},
		{"inject vm.hang --role w", 1, "inject vm.hang --role worker "},
		{"inject vm.hang --region e", 1, "inject vm.hang --region eu "},
		{"inject vm.hang --datacenter dcw", 1, "inject vm.hang --datacenter dcwest "},
		{"inject vm.hang --cluster wes", 1, "inject vm.hang --cluster west "},
		{"inject nothing.known x", 1, "inject nothing.known x"},
		{"explain no", 1, "explain node "},
		{"details component csi-pro", 1, "details component csi-provisioner "},
		{"vm power-off x --nope y", 1, "vm power-off x --nope y"},
		{"xyzzy", 1, "xyzzy"},
		{"vsphere-sandbox vm power-off cp", 1, "vsphere-sandbox vm power-off cp-1 "},
	} {
		m := at(30 * time.Second)
		write(m, tc.typed)
		name := "tab"
		if tc.tabs < 0 {
			name = "shift+tab"
		}
		for range max(tc.tabs, -tc.tabs) {
			press(m, name)
		}
		if got := m.Text(); got != tc.want {
			t.Errorf("%s, %d: %q, want %q", tc.typed, tc.tabs, got, tc.want)
		}
	}
}

// A name that a shell would break is written so that it holds together, and one that repeats with its vCenter.
func TestNames(t *testing.T) {
	s := fold.New(fold.About{}, 0)
	for _, v := range []api.VM{{Name: "my vm", VCenter: "us", MoRef: "1"}, {Name: "twin", VCenter: "us", MoRef: "2"}, {Name: "twin", VCenter: "eu", MoRef: "1"}} {
		s.Apply(time.Time{}, api.Update{VM: &v})
	}
	s.Apply(time.Time{}, api.Update{Synced: true})
	for typed, want := range map[string]string{
		"vm reset my": "vm reset 'my vm' ", "vm reset 'my v": "vm reset 'my vm' ", `vm reset my\ `: "vm reset 'my vm' ",
		"vm reset tw": "vm reset eu/twin", "vm reset us/": "vm reset us/twin ",
	} {
		m := prompt.New()
		m.SetState(s)
		m.Command(typed)
		press(m, "tab")
		if m.Text() != want {
			t.Errorf("%s: %q, want %q", typed, m.Text(), want)
		}
	}
}

// In the middle of a line, what follows stays.
func TestCompletionInside(t *testing.T) {
	m := at(30 * time.Second)
	m.Command("vm power-off cp  --vcenter us")
	for range " --vcenter us" {
		press(m, "left")
	}
	press(m, "left")
	if press(m, "tab"); m.Text() != "vm power-off cp-1   --vcenter us" {
		t.Errorf("%q", m.Text())
	}
	if write(m, "x"); m.Text() != "vm power-off cp-1 x  --vcenter us" {
		t.Errorf("the cursor is elsewhere: %q", m.Text())
	}
}

func TestGhost(t *testing.T) {
	for _, tc := range []struct{ typed, want, after string }{
		{"", "", ""},
		{"ov", "erview", "overview"},
		{"vm p", "ower-off", "vm power-off"},
		{"vm power-off ", "worker-eu-1", "vm power-off worker-eu-1"},
		{"vm power-off cp-1 ", "", "vm power-off cp-1 "}, // it may end here
		{"vm power-off c", "p-1", "vm power-off cp-1"},
		{"vm power-off eu-1", "", "vm power-off eu-1"}, // is not how it begins
		{"inject vm.hang 'c", "", "inject vm.hang 'c"},
	} {
		for _, name := range []string{"right", "end", "ctrl+e", "ctrl+f"} {
			m := at(30 * time.Second)
			write(m, tc.typed)
			if line := seen(m, 200); tc.want != "" && !strings.HasPrefix(line, ":"+tc.typed+tc.want+"   ") {
				t.Errorf("%q: %s", tc.typed, line)
			}
			if press(m, name); m.Text() != tc.after {
				t.Errorf("%q, %s: %q, want %q", tc.typed, name, m.Text(), tc.after)
			}
		}
	}
}

func TestEnter(t *testing.T) {
	us := api.Subject{Kind: "vm", VCenter: "us", Name: "cp-1"}
	for _, tc := range []struct {
		line string
		want intent.Intent
		err  string
	}{
		{"vm power-off cp-1", vm("power-off", "cp-1"), ""},
		{"vsphere-sandbox --name NAME vm power-off cp-1", vm("power-off", "cp-1"), ""},
		{"vsphere-sandbox --name=NAME vm power-off cp-1", vm("power-off", "cp-1"), ""},
		{"vsphere-sandbox --name other vm power-off cp-1", nil, `this is not sandbox "other"`},
		{"vsphere-sandbox --name", nil, `this is not sandbox ""`},
		{"explain vm us/cp-1", intent.Why{Subject: us}, ""},
		{"details vm cp-1", intent.Details{Subject: us}, ""},
		{"get vm cp-1 --vcenter us", intent.Focus{Subject: us}, ""},
		{"get vm cp-1 --vcenter eu", nil, `vm "cp-1" not found`},
		{"details volume data-web-0", intent.Details{Subject: subject("volume", "pvc-1f6b3c52-7c0e-4f0a-9d43-0a6c1c1f7b10")}, ""},
		{"explain node gone", intent.Why{Subject: subject("node", "gone")}, ""},
		{"details node wroker-eu-1", nil, `node "wroker-eu-1" not found; did you mean "worker-eu-1"?`},
		{"inject vm.hnag", nil, `fault "vm.hnag" not found; did you mean "vm.hang"?`},
		{"fault describe vm.hang", intent.Fill{Kind: "vm.hang"}, ""},
		{"logs worker-eu-1", intent.Logs{Component: "node/worker-eu-1"}, ""},
		{"logs sandbox", intent.Logs{Component: "sandbox"}, ""},
		{"vm pwoer-off cp-1", nil, `unknown command "vm pwoer-off"; did you mean "vm power-off"?`},
		{"", nil, ""},
	} {
		m := at(30 * time.Second)
		write(m, strings.ReplaceAll(tc.line, "NAME", tuitest.About().Sandbox))
		got, done := press(m, "enter")
		if d := cmp.Diff(tc.want, got); d != "" || done == (tc.err != "") {
			t.Errorf("%s: done %t %s", tc.line, done, d)
		}
		if line := seen(m, 200); tc.err != "" && !strings.HasSuffix(line, "✗ "+tc.err) {
			t.Errorf("%s: %s", tc.line, line)
		}
		if tc.err == "" {
			continue
		}
		if press(m, "left"); strings.Contains(seen(m, 200), "✗") {
			t.Errorf("%s: the error stays: %s", tc.line, seen(m, 200))
		}
	}
}

// TestAmbiguous: objects with the same name are distinguished.
func TestAmbiguous(t *testing.T) {
	s := fold.New(fold.About{}, 0)
	s.Apply(time.Time{}, api.Update{VM: &api.VM{Name: "w", VCenter: "us", MoRef: "1"}}, api.Update{VM: &api.VM{Name: "w", VCenter: "eu", MoRef: "1"}},
		api.Update{Component: &api.Component{Name: "node/a"}}, api.Update{Component: &api.Component{Name: "x/a"}}, api.Update{Synced: true})
	for line, want := range map[string]string{
		"details vm w": `several are called "w": eu/w, us/w`, "logs a": `several components are called "a": node/a, x/a`,
	} {
		m := prompt.New()
		m.SetState(s)
		m.Command(line)
		if i, done := press(m, "enter"); done || !strings.Contains(seen(m, 100), want) {
			t.Errorf("%v, %s", i, seen(m, 100))
		}
	}
}

func TestLeave(t *testing.T) {
	for _, name := range []string{"esc", "ctrl+c", "ctrl+g"} {
		m := at(30 * time.Second)
		write(m, "vm")
		if i, done := press(m, name); i != nil || !done || m.Text() != "" {
			t.Errorf("%s: %v %t", name, i, done)
		}
	}
	m := at(30 * time.Second)
	write(m, "v")
	if _, done := press(m, "backspace"); done {
		t.Error("left too early")
	}
	if _, done := press(m, "backspace"); !done {
		t.Error("backspace on an empty line stays")
	}
}

func TestHistory(t *testing.T) {
	m := at(30 * time.Second)
	for _, line := range []string{"overview", "calls", "calls", "bad one"} {
		write(m, line)
		press(m, "enter")
		m.Command("")
	}
	write(m, "dra")
	for _, tc := range []struct{ key, want string }{
		{"up", "bad one"}, {"up", "calls"}, {"ctrl+p", "overview"}, {"up", "overview"}, {"down", "calls"}, {"ctrl+n", "bad one"}, {"down", "dra"}, {"down", "dra"},
	} {
		if press(m, tc.key); m.Text() != tc.want {
			t.Errorf("%s: %q, want %q", tc.key, m.Text(), tc.want)
		}
	}
	press(m, "up", "up")
	if i, done := press(m, "enter"); !done || i != (intent.Go{Screen: intent.Calls}) {
		t.Errorf("%v", i)
	}
}

func TestFilter(t *testing.T) {
	m := at(30 * time.Second)
	m.Filter("us")
	for _, tc := range []struct {
		key  string
		want intent.Intent
		done bool
	}{
		{"-", intent.Filter{Text: "us-"}, false},
		{"e", intent.Filter{Text: "us-e"}, false},
		{"left", nil, false},
		{"tab", nil, false},
		{"backspace", intent.Filter{Text: "use"}, false},
		{"space", intent.Filter{Text: "us e"}, false},
		{"ctrl+k", intent.Filter{Text: "us "}, false},
		{"q", intent.Filter{Text: "us q"}, false},
		{"enter", intent.Filter{Text: "us q"}, true},
	} {
		if i, done := press(m, tc.key); i != tc.want || done != tc.done {
			t.Errorf("%s: %v %t, want %v", tc.key, i, done, tc.want)
		}
	}
	m.Filter("")
	if i, _ := press(m, "up"); i != (intent.Filter{Text: "us q"}) {
		t.Errorf("up: %v", i)
	}
	if i, done := press(m, "esc"); i != (intent.Filter{}) || !done {
		t.Errorf("esc: %v", i)
	}
	m.Command("")
	if press(m, "up"); m.Text() != "" {
		t.Errorf("a filter is among the commands: %s", m.Text())
	}
}

func TestPaste(t *testing.T) {
	m := at(30 * time.Second)
	if i := m.Paste("  vm power-off\x1b[31m cp-1\nrm -rf /\n"); i != nil || m.Text() != "vm power-off cp-1" {
		t.Errorf("%v %q", i, m.Text())
	}
	m.Filter("")
	if i := m.Paste("us"); i != (intent.Filter{Text: "us"}) {
		t.Errorf("%v", i)
	}
}

func TestEdit(t *testing.T) {
	for _, tc := range []struct {
		keys []string
		want string
	}{
		{[]string{"left", "left", "left", "X"}, "one two thXree"},
		{[]string{"ctrl+a", "delete", "X"}, "Xne two three"},
		{[]string{"home", "ctrl+d", "end", "X"}, "ne two threeX"},
		{[]string{"ctrl+w", "X"}, "one two X"},
		{[]string{"alt+b", "alt+b", "X"}, "one Xtwo three"},
		{[]string{"home", "alt+f", "X"}, "oneX two three"},
		{[]string{"home", "ctrl+right", "ctrl+right", "ctrl+u"}, " three"},
		{[]string{"ctrl+left", "ctrl+k"}, "one two "},
		{[]string{"home", "alt+d"}, " two three"},
		{[]string{"home", "backspace", "left", "right", "X"}, "oXne two three"},
		{[]string{"f5", "pgup", "insert"}, "one two three"},
		{[]string{"alt+x"}, "one two three"},
		{[]string{"é", "ü", "backspace"}, "one two threeé"},
	} {
		m := prompt.New()
		m.Command("one two three")
		if press(m, tc.keys...); m.Text() != tc.want {
			t.Errorf("%v: %q, want %q", tc.keys, m.Text(), tc.want)
		}
	}
}

func TestView(t *testing.T) {
	var b strings.Builder
	show := func(m *prompt.Model, widths ...int) {
		for _, w := range widths {
			view := m.View(w)
			tuitest.Fills(t, view, w, 1)
			b.WriteString(strings.TrimRight(ansi.Strip(view), " ") + "\n" + strings.Repeat(" ", m.Cursor(w)) + "^\n")
		}
	}
	m := at(30 * time.Second)
	show(m, 80, 200)
	for _, line := range []string{"vm", "vm p", "vm power-off ", "vm power-off worker-eu-2 ", "vm move cp-1 --to ", "inject vm.hang --", "event ", "vm pwoer-off cp-1"} {
		m.Command(line)
		show(m, 80)
	}
	press(m, "enter")
	show(m, 20, 80, 200)
	m.Command("vm power-off w")
	press(m, "tab", "tab", "tab", "tab")
	show(m, 40, 80)
	m.Command(strings.Repeat("vm power-off ", 10))
	press(m, "left", "left")
	show(m, 20, 80)
	m.Filter("us-west")
	show(m, 80)
	tuitest.Golden(t, "view", b.String())

	for w := range 30 {
		for _, line := range []string{"", "x", "vm power-off wörker 日本語", "fault inject "} {
			m.Command(line)
			if view := m.View(w); w > 0 {
				tuitest.Fills(t, view, w, 1)
			} else if view != "" {
				t.Errorf("width 0: %q", view)
			}
			if c := m.Cursor(w); c < 0 || c > max(0, w-1) {
				t.Errorf("width %d: cursor at %d", w, c)
			}
		}
	}
}

func TestThemes(t *testing.T) {
	for _, th := range []*theme.Theme{theme.Dark(), theme.Light()} {
		m := at(30 * time.Second)
		m.SetTheme(th)
		m.Command("vm p")
		first := m.View(80)
		press(m, "tab")
		second := m.View(80)
		m.Command("nope")
		press(m, "enter")
		tuitest.Colored(t, th.Name, strings.Join([]string{first, second, m.View(80)}, "\n"))
	}
}

func BenchmarkView(b *testing.B) {
	m := prompt.New()
	m.SetState(tuitest.Big(1000))
	m.Command("vm power-off worker")
	for b.Loop() {
		m.Handle(tea.KeyPressMsg{Code: tea.KeyLeft})
		m.Handle(tea.KeyPressMsg{Code: tea.KeyEnd})
		m.View(200)
	}
}
