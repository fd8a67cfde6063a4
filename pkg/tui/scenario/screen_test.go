package scenario

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
	_ panel.Clicker  = (*Screen)(nil)
)

func screen(s *fold.State) *Screen {
	p := New()
	p.SetSize(80, 21)
	p.SetState(s)
	return p
}

// failing is a long run in which a step has failed.
func failing() *fold.State {
	s := tuitest.At(30 * time.Second)
	began := tuitest.Began.Add(10 * time.Second)
	end := began.Add(95 * time.Second)
	r := api.Run{
		Name: "host-crash", File: "scenarios/lifecycle/host-crash.yaml", State: failed, Began: began, Ended: &end, Number: 2, Of: 5,
		Description: "a host dies with all its VMs; its nodes get the shutdown taint, or are deleted, and nothing happens to the nodes of other hosts, which continue as if it had never been there at all",
		Message:     "step 4: node worker-west-1: taints has node.cloudprovider.kubernetes.io/shutdown: it has node.kubernetes.io/unreachable:NoSchedule alone, after 60s",
	}
	for i := 1; i <= 30; i++ {
		st := api.RunStep{Text: fmt.Sprintf("expect node worker-%d: ready is Unknown", i), State: passed, Took: api.Duration(time.Duration(i) * 1234 * time.Millisecond), Event: uint64(i)}
		switch {
		case i == 3:
			st.Text, st.Message = "run kubectl get nodes", "1 line\x1b[2J"
		case i == 4:
			st.State, st.Event = failed, 0
			st.Message = "node worker-west-1: taints has node.cloudprovider.kubernetes.io/shutdown: it has node.kubernetes.io/unreachable:NoSchedule alone, after 60s, and the cloud controller manager was asked about it eleven times in this time"
		case i == 5:
			st.State, st.Message, st.Event = errored, "log of ccm: no such file", 0
		case i > 5:
			st.State, st.Took, st.Event = skipped, 0, 0
		}
		r.Steps = append(r.Steps, st)
	}
	s.Apply(end, api.Update{Run: &r})
	return s
}

func TestGolden(t *testing.T) {
	for name, state := range map[string]*fold.State{
		"running": tuitest.At(30 * time.Second), "passed": tuitest.At(55 * time.Second), "failed": failing(), "none": fold.New(fold.About{Sandbox: "lab"}, 0),
	} {
		p := screen(state)
		for _, s := range []struct{ width, height int }{{80, 21}, {100, 27}, {140, 42}, {200, 57}} {
			p.SetSize(s.width, s.height)
			tuitest.Fills(t, p.View(), s.width, s.height)
			tuitest.Golden(t, fmt.Sprintf("%s-%dx%d", name, s.width, s.height), p.View())
		}
		p.SetSize(100, 27)
		for _, th := range []*theme.Theme{theme.Dark(), theme.Light(), theme.Mono()} {
			p.SetTheme(th)
			tuitest.Colored(t, name+"-"+th.Name, p.View())
		}
		for h := 1; h <= 30; h += 1 + h/8 {
			for w := 1; w <= 110; w += 1 + w/10 {
				p.SetSize(w, h)
				tuitest.Fills(t, p.View(), w, h)
			}
		}
	}
}

func TestNothingYet(t *testing.T) {
	p := New()
	p.SetSize(60, 5)
	tuitest.Fills(t, p.View(), 60, 5)
	p.SetState(tuitest.At(time.Second))
	if !strings.Contains(p.View(), "No scenario has run yet in this recording.") {
		t.Errorf("no word of it:\n%s", p.View())
	}
	for _, k := range []string{"j", "G", "enter", "t", "pgdown"} {
		if got, ok := tuitest.Press(p.Handle, k); got != nil || !ok {
			t.Errorf("%s: %v", k, got)
		}
	}
	if _, ok := p.Click(1, 1); ok {
		t.Error("a click is taken")
	}
	for _, b := range p.Bindings() {
		if b.Enabled() {
			t.Errorf("%s is offered", b.Help().Key)
		}
	}
	p.SetState(stateOf(api.Run{Name: "a", State: running}))
	if !strings.Contains(p.View(), "It has not said yet what its steps are.") {
		t.Errorf("no word of steps:\n%s", p.View())
	}
}

func stateOf(r api.Run) *fold.State {
	s := fold.New(fold.About{Sandbox: "lab"}, 0)
	s.Apply(tuitest.Began, api.Update{Run: &r})
	return s
}

// The step that runs is followed until a person moves, and again by t and in the next run.
func TestFollow(t *testing.T) {
	s := tuitest.At(16 * time.Second)
	p := screen(s)
	at := func() string { return p.step().Text }
	if got := at(); got != "wait 5s" {
		t.Errorf("it begins at %q", got)
	}
	tuitest.To(s, 16*time.Second, 21*time.Second)
	p.SetState(s)
	follows := at()
	if p.step().State != running || follows == "wait 5s" {
		t.Errorf("it stays at %q", follows)
	}
	tuitest.Press(p.Handle, "g")
	tuitest.To(s, 21*time.Second, 30*time.Second)
	p.SetState(s)
	if got := at(); !strings.HasPrefix(got, "never event") || !strings.Contains(ansi.Strip(p.View()), "t follows what runs") {
		t.Errorf("it was taken away from a person, to %q", got)
	}
	tuitest.Press(p.Handle, "t")
	if p.step().State != running || strings.HasPrefix(at(), "never") || !strings.Contains(ansi.Strip(p.View()), "follows what runs") {
		t.Errorf("t does not follow, but is at %q", at())
	}
	tuitest.Press(p.Handle, "t", "k")
	tuitest.To(s, 30*time.Second, 55*time.Second)
	next := api.Run{Name: "next", State: running, Began: s.Now(), Steps: []api.RunStep{{Text: "a", State: passed}, {Text: "b", State: running}}}
	s.Apply(s.Now(), api.Update{Run: &next})
	p.SetState(s)
	if at() != "b" {
		t.Errorf("the next run is not followed, but at %q", at())
	}
}

func TestKeys(t *testing.T) {
	for _, tt := range []struct {
		keys string
		want intent.Intent
	}{
		{"enter", intent.Say{Text: "no event decided this step"}}, // at the step that failed
		{"g enter", intent.Chain{Seq: 1}},
		{"g j down enter", intent.Chain{Seq: 3}},
		{"g j k up enter", intent.Chain{Seq: 1}},
		{"end pgup pgdown ctrl+u ctrl+d home enter", intent.Chain{Seq: 1}},
		{"G enter", intent.Say{Text: "no event decided this step"}},
	} {
		got, ok := tuitest.Press(screen(failing()).Handle, strings.Fields(tt.keys)...)
		if d := cmp.Diff(tt.want, got); d != "" || !ok {
			t.Errorf("%s: taken %t (-want +got):\n%s", tt.keys, ok, d)
		}
	}
	if got, _ := tuitest.Press(screen(tuitest.At(30*time.Second)).Handle, "enter"); got != (intent.Say{Text: "this step is not decided yet"}) {
		t.Errorf("a step that runs: %v", got)
	}
	p := screen(failing())
	for _, k := range []string{"?", ":", "/", "1", "tab", "esc", "q", "ctrl+c", "l", "w", "y", "p", "f", "o"} {
		if _, ok := tuitest.Press(p.Handle, k); ok {
			t.Errorf("%s is taken", k)
		}
	}
	for _, b := range p.Bindings() {
		for _, k := range b.Keys() {
			if _, ok := tuitest.Press(screen(failing()).Handle, k); !ok {
				t.Errorf("%s is bound and not taken", k)
			}
		}
	}
}

// The step with the cursor is seen whole, wherever it is.
func TestCursorIsSeen(t *testing.T) {
	p := screen(failing())
	p.SetSize(60, 14)
	for _, k := range []string{"g", "j", "j", "j", "j", "j", "pgdown", "pgdown", "G", "pgup", "k", "k", "g"} {
		tuitest.Press(p.Handle, k)
		if view := ansi.Strip(p.View()); !strings.Contains(view, fmt.Sprintf("\n%2d ", p.blocks[p.cursor].step+1)) {
			t.Errorf("after %s, step %q is not seen:\n%s", k, p.step().Text, view)
		}
	}
}

func TestSubject(t *testing.T) {
	p := screen(tuitest.At(30 * time.Second))
	tuitest.Press(p.Handle, "g", "j", "j") // the injection
	if got, ok := p.Subject(); !ok || got != (api.Subject{Kind: "vm", VCenter: "us", Name: "worker-west-1"}) {
		t.Errorf("%v, %t", got, ok)
	}
	tuitest.Press(p.Handle, "g")
	if got, ok := p.Subject(); ok {
		t.Errorf("a step that no event decided: %v", got)
	}
}

func TestFilter(t *testing.T) {
	p := screen(failing())
	p.SetFilter("WORKER-1 passed")
	view := ansi.Strip(p.View())
	if !strings.Contains(view, "1 of 30 steps") || strings.Contains(view, "worker-2:") {
		t.Errorf("not filtered:\n%s", view)
	}
	tuitest.Press(p.Handle, "enter")
	p.SetFilter("no such step")
	if view := ansi.Strip(p.View()); !strings.Contains(view, "no step matches the filter") {
		t.Errorf("it is empty without a word:\n%s", view)
	}
	tuitest.Fills(t, p.View(), 80, 21)
	p.SetFilter("")
	if len(p.blocks) != 30 || p.step() == nil {
		t.Error("the filter is not taken away")
	}
}

func TestMouse(t *testing.T) {
	p := screen(failing())
	tuitest.Press(p.Handle, "g")
	head := len(p.head())
	if _, ok := p.Click(3, head+1); !ok || p.blocks[p.cursor].step != 1 {
		t.Errorf("a click selects step %d", p.blocks[p.cursor].step+1)
	}
	p.Click(3, head+3) // what is said of step 3
	if p.blocks[p.cursor].step != 2 {
		t.Errorf("a click on a message selects step %d", p.blocks[p.cursor].step+1)
	}
	p.Click(3, 0)
	p.Click(3, 20)
	p.Wheel(-1)
	if p.blocks[p.cursor].step != 1 {
		t.Errorf("the wheel goes to step %d", p.blocks[p.cursor].step+1)
	}
}

// TestElapsed: time passes without updates.
func TestElapsed(t *testing.T) {
	s := tuitest.At(22 * time.Second)
	p := screen(s)
	before := p.View()
	s.Tick(tuitest.Began.Add(25 * time.Second))
	p.SetState(s)
	if p.View() == before || !strings.Contains(ansi.Strip(p.View()), "10s") {
		t.Errorf("the clock stands still:\n%s", ansi.Strip(p.View()))
	}
}

func BenchmarkScreen(b *testing.B) {
	s := tuitest.Big(1000)
	began := s.Now()
	r := api.Run{Name: "large", State: running, Began: began}
	for i := range 200 {
		r.Steps = append(r.Steps, api.RunStep{Text: fmt.Sprintf("expect node worker-%d: ready is Unknown, taints has node.cloudprovider.kubernetes.io/shutdown", i), State: running, Message: "it is True", Began: &began})
	}
	p := screen(s)
	p.SetSize(200, 57)
	for b.Loop() {
		s.Apply(s.Now(), api.Update{Run: &r})
		p.SetState(s)
		_ = p.View()
	}
}
