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

// A panel that crashes gives the terminal back, with an error.
func TestCrash(t *testing.T) {
	var out bytes.Buffer
	in, keys := io.Pipe()
	defer keys.Close()
	boom := &booming{fake: fake{upTo: calm}}
	outcome, err := Run(t.Context(), Options{Sandbox: boom, Theme: "mono", Input: in, Output: &out, Environ: []string{"TERM=xterm-256color"}})
	if !errors.Is(err, ErrCrashed) || outcome.Stop {
		t.Fatalf("%+v, %v", outcome, err)
	}
	if s := out.String(); strings.Contains(s, "\x1b[?1049h") && !strings.Contains(s, "\x1b[?1049l") {
		t.Errorf("the screen is not as it was: %q", s[max(0, len(s)-500):])
	}
}

// booming is a sandbox of which a question crashes the UI.
type booming struct{ fake }

func (b *booming) FaultKinds(context.Context) ([]api.FaultKind, error) { panic("boom") }

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
