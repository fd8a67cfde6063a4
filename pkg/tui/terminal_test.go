package tui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/exp/teatest/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
)

// In a terminal, as bubbletea runs it: the stream arrives, keys arrive, it ends.
func TestInATerminal(t *testing.T) {
	f := &fake{upTo: calm, more: make(chan api.Update)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tm := teatest.NewTestModel(t, NewModel(ctx, Options{Sandbox: f, Theme: "mono"}), teatest.WithInitialTermSize(100, 30))
	waitFor(t, tm, "6/6")
	tm.Type(":vm power-off worker-west-1")
	tm.Send(tea.KeyPressMsg{Code: tea.KeyEnter})
	waitFor(t, tm, "done")
	if did := f.done(); len(did) != 1 {
		t.Errorf("did %v", did)
	}
	tm.Send(tea.WindowSizeMsg{Width: 60, Height: 10})
	waitFor(t, tm, "too small")
	tm.Type("q")
	tm.WaitFinished(t, teatest.WithFinalTimeout(10*time.Second))
}

func waitFor(t *testing.T, tm *teatest.TestModel, text string) {
	t.Helper()
	teatest.WaitFor(t, tm.Output(), func(b []byte) bool { return bytes.Contains(b, []byte(text)) }, teatest.WithDuration(20*time.Second))
}

// TestCrash: a panic in a panel restores the terminal and returns an error.
func TestCrash(t *testing.T) {
	for _, at := range []string{"view", "key", "state", "question", "stream", "log"} {
		t.Run(at, func(t *testing.T) {
			var out bytes.Buffer
			in, keys := io.Pipe()
			defer keys.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			f := &booming{fake: fake{upTo: calm}, at: at}
			m := NewModel(ctx, Options{Sandbox: f, Theme: "mono", Input: in, Output: &out, Environ: []string{"TERM=xterm-256color"}})
			b := &boom{Panel: m.screens[0], at: at}
			m.screens[0] = b
			m.resize(100, 30)
			b.armed = true
			if at == "log" {
				m.opts.Logs = func(context.Context, string, func([]string)) error { panic("boom at a log") }
				m.bind()
			}
			go func() {
				_, _ = keys.Write([]byte("j"))
				if at == "log" {
					_, _ = keys.Write([]byte(":logs ccm\r"))
				}
			}()
			outcome, err := run(ctx, m, tea.WithWindowSize(100, 30))
			if !errors.Is(err, ErrCrashed) || outcome.Stop {
				t.Fatalf("%+v, %v", outcome, err)
			}
			if s := out.String(); strings.Count(s, "\x1b[?1049h") != strings.Count(s, "\x1b[?1049l") {
				t.Errorf("the screen is not as it was: %q", s[max(0, len(s)-500):])
			}
		})
	}
}

// boom is a panel that crashes.
type boom struct {
	panel.Panel
	at    string
	armed bool
}

func (b *boom) View() string { b.crash("view"); return b.Panel.View() }

func (b *boom) SetState(s *fold.State) { b.crash("state"); b.Panel.SetState(s) }

func (b *boom) Handle(k tea.KeyPressMsg) (intent.Intent, bool) {
	b.crash("key")
	return b.Panel.Handle(k)
}

func (b *boom) crash(at string) {
	if b.armed && b.at == at {
		panic("boom at " + at)
	}
}

// booming is a sandbox of which a question crashes the UI.
type booming struct {
	fake
	at string
}

func (b *booming) FaultKinds(ctx context.Context) ([]api.FaultKind, error) {
	if b.at == "question" {
		panic("boom at a question")
	}
	return b.fake.FaultKinds(ctx)
}

func (b *booming) Watch(ctx context.Context, after uint64, send func(api.Update) error) error {
	if b.at == "stream" {
		panic("boom at the stream")
	}
	return b.fake.Watch(ctx, after, send)
}

// When its context ends the UI does, which is no error.
func TestContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, keys := io.Pipe()
	defer keys.Close()
	cancel()
	if outcome, err := Run(ctx, Options{Sandbox: &fake{}, Theme: "mono", Input: in, Output: io.Discard}); err != nil || outcome.Stop {
		t.Errorf("%+v, %v", outcome, err)
	}
}
