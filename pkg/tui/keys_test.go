package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/teatest/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
)

// Every key of the root model and every dialog, in a terminal as bubbletea runs it. A key that is not pressed here fails
// the test.
func TestEveryKey(t *testing.T) {
	f := &fake{upTo: calm, more: make(chan api.Update)}
	logs := func(ctx context.Context, component string, send func([]string)) error {
		send([]string{"a line of " + component})
		<-ctx.Done()
		return nil
	}
	s := watch(t, Options{Sandbox: f, Theme: "mono", Owned: true, Logs: logs})
	s.await("the sandbox", func(n seen) bool { return strings.Contains(n.frame, "6/6") && n.kinds > 0 })

	for i, key := range []string{"1", "2", "3", "4", "5", "6", "7"} {
		s.press(key, "the screen", func(n seen) bool { return n.at == intent.Screen(i) })
	}
	s.press("tab", "the first after the last", func(n seen) bool { return n.at == intent.Overview })
	s.press("shift+tab", "the last before the first", func(n seen) bool { return n.at == intent.Services })

	s.press("l", "the components", func(n seen) bool { return n.top == "*pane.List" })
	s.press("esc", "no list", func(n seen) bool { return n.over == 0 })

	s.press(":", "the prompt", func(n seen) bool { return n.typing })
	s.text("get node worker-west-1")
	s.press("enter", "the node", func(n seen) bool { return !n.typing && n.subject == worker() })
	for _, dialog := range []struct{ key, top, back string }{
		{"enter", "*pane.Details", "esc"},
		{"y", "*pane.Details", "q"},
		{"w", "*pane.Why", "esc"},
		{"l", "*pane.Logs", "esc"},
		{"?", "*pane.Help", "?"},
		{"f1", "*pane.Help", "f1"},
	} {
		s.press(dialog.key, dialog.top, func(n seen) bool { return n.top == dialog.top })
		s.press(dialog.back, "what is below", func(n seen) bool { return n.over == 0 })
	}
	s.press("5", "the calls", func(n seen) bool { return n.at == intent.Calls })
	s.press("enter", "a call", func(n seen) bool { return n.top == "*pane.Exchange" && strings.Contains(n.frame, "← 200") })
	s.press("esc", "the calls again", func(n seen) bool { return n.over == 0 && n.at == intent.Calls })
	s.press("1", "the overview", func(n seen) bool { return n.at == intent.Overview && n.subject == worker() })
	s.press("p", "the power menu", func(n seen) bool { return n.top == "*faults.Menu" && strings.Contains(n.frame, "suspend") })
	s.press("D", "the question", func(n seen) bool { return n.top == "*confirm.Question" })
	s.press("n", "the menu again", func(n seen) bool { return n.top == "*faults.Menu" })
	s.press("esc", "no menu", func(n seen) bool { return n.over == 0 })
	s.press("f", "the menu of faults", func(n seen) bool { return n.top == "*faults.Menu" && strings.Contains(n.frame, "vm.power-off") })
	s.press("enter", "the form", func(n seen) bool { return n.top == "*faults.Form" })
	s.press("ctrl+d", "the plan", func(n seen) bool { return slices.ContainsFunc(f.done(), isPlan) })
	s.press("esc", "the menu again", func(n seen) bool { return n.top == "*faults.Menu" })
	s.press("esc", "no menu", func(n seen) bool { return n.over == 0 })

	s.press("B", "the snapshots", func(n seen) bool { return n.top == "*faults.Menu" && strings.Contains(n.frame, "before-upgrade") })
	s.press("1", "why not that one", func(n seen) bool { return strings.Contains(n.frame, "objects.jsonl is missing") })
	s.press("2", "the question", func(n seen) bool {
		return n.top == "*confirm.Question" && strings.Contains(n.frame, "What changed since is lost")
	})
	s.press("n", "the menu again", func(n seen) bool { return n.top == "*faults.Menu" })
	s.press("s", "the prompt", func(n seen) bool { return n.typing && strings.Contains(n.frame, "snapshot save") })
	s.press("esc", "no prompt", func(n seen) bool { return !n.typing })
	s.press("esc", "no menu", func(n seen) bool { return n.over == 0 })

	s.press("ctrl+r", "read-only", func(n seen) bool { return n.readOnly })
	s.press("ctrl+r", "changes allowed", func(n seen) bool { return !n.readOnly })
	s.press("2", "the timeline", func(n seen) bool { return n.at == intent.Timeline })
	s.press("/", "the filter", func(n seen) bool { return n.typing })
	s.text("object:worker-west-1 plane:kubernetes")
	s.press("enter", "an event of the node", func(n seen) bool { return !n.typing && n.subject == worker() })
	s.press("o", "the node in the overview", func(n seen) bool { return n.at == intent.Overview && n.subject == worker() })

	s.press("ctrl+z", "why not", func(n seen) bool { return strings.Contains(n.frame, "would be suspended") })
	s.press("q", "the question", func(n seen) bool { return n.leaving })
	s.press("x", "no end", func(n seen) bool { return !n.leaving })
	s.press("ctrl+c", "the question", func(n seen) bool { return n.leaving })
	s.send("ctrl+c")
	s.tm.WaitFinished(t, teatest.WithFinalTimeout(10*time.Second))
	if !s.m.outcome.Stop {
		t.Error("ctrl+c twice does not end the sandbox")
	}
	if did := f.done(); slices.ContainsFunc(did, func(d string) bool { return !isPlan(d) }) {
		t.Errorf("did %v", did)
	}

	s.play(t)
	k := newKeymap()
	for _, b := range k.all() {
		for _, name := range b.Keys() {
			if !s.pressed[name] {
				t.Errorf("%s (%s) is not pressed", name, b.Help().Desc)
			}
		}
	}
}

func isPlan(did string) bool {
	return strings.HasPrefix(did, "inject ") && strings.Contains(did, `"dryRun":true`)
}

// play presses the keys of a recording.
func (s *spectator) play(t *testing.T) {
	r := watch(t, Options{Player: recording(t), Theme: "mono"})
	r.pressed = s.pressed
	r.press("P", "it stands still", func(n seen) bool { return strings.HasPrefix(n.play, "‖") })
	r.press(">", "10s on", func(n seen) bool { return strings.Contains(n.play, " 0:1") })
	r.press("<", "10s back", func(n seen) bool { return strings.Contains(n.play, " 0:0") })
	r.press("}", "double speed", func(n seen) bool { return strings.Contains(n.play, "×2") })
	r.press("{", "as it was", func(n seen) bool { return !strings.Contains(n.play, "×") })
	r.send("q")
	r.tm.WaitFinished(t, teatest.WithFinalTimeout(10*time.Second))
}

// seen is how the UI is after a message.
type seen struct {
	frame, top, play          string
	at                        intent.Screen
	over, kinds               int
	subject                   api.Subject
	typing, readOnly, leaving bool
}

// spectator runs a model in a terminal, and looks on.
type spectator struct {
	t       *testing.T
	m       *Model
	tm      *teatest.TestModel
	frames  chan seen // the newest
	pressed map[string]bool
}

func watch(t *testing.T, o Options) *spectator {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	s := &spectator{t: t, m: NewModel(ctx, o), frames: make(chan seen, 1), pressed: map[string]bool{}}
	s.tm = teatest.NewTestModel(t, s, teatest.WithInitialTermSize(100, 30))
	return s
}

// Init, Update and View make it the model that bubbletea runs.
func (s *spectator) Init() tea.Cmd { return s.m.Init() }

func (s *spectator) View() tea.View { return s.m.View() }

func (s *spectator) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	_, cmd := s.m.Update(msg)
	n := seen{
		frame: ansi.Strip(s.m.Frame()), top: fmt.Sprintf("%T", s.m.top()), at: s.m.at, over: len(s.m.over), kinds: len(s.m.kinds),
		typing: s.m.typing, readOnly: s.m.readOnly, leaving: s.m.leaving,
	}
	n.subject, _ = s.m.subject()
	if s.m.play != nil {
		n.play = s.m.play.String()
	}
	select {
	case <-s.frames:
	default:
	}
	s.frames <- n
	return s, cmd
}

// press presses a key, and waits for what comes of it.
func (s *spectator) press(key, what string, holds func(seen) bool) {
	s.t.Helper()
	s.send(key)
	s.await(key+": "+what, holds)
}

func (s *spectator) send(name string) {
	s.t.Helper()
	k, err := keyOf(name)
	if err != nil {
		s.t.Fatal(err)
	}
	s.pressed[name] = true
	s.tm.Send(k)
}

func (s *spectator) text(text string) {
	for _, r := range text {
		s.tm.Send(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
}

func (s *spectator) await(what string, holds func(seen) bool) {
	s.t.Helper()
	var last seen
	for limit := time.After(20 * time.Second); ; {
		select {
		case last = <-s.frames:
			if holds(last) {
				return
			}
		case <-limit:
			s.t.Fatalf("waited in vain for %s; on top is %s of\n%s", what, last.top, last.frame)
		}
	}
}
