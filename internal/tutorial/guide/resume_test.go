package guide

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial"
)

// Who goes comes back to the same place, with the shell as it was and the world as it was.
func TestResume(t *testing.T) {
	l := newLab(t)
	if _, end, err := l.walk(t, "a", "", "q"); end != Left || err != nil { // the lamp is on
		t.Fatal(end, err)
	}
	place, err := l.Shelf.Place(l.Page)
	if err != nil || place.Step != 2 || place.Text != "list" {
		t.Fatalf("kept %+v, %v", place, err)
	}
	before := l.shells
	screen, end, err := l.walk(t, "", "", "", "", "a", "")
	golden(t, "resumed", screen)
	if end != Finished || err != nil {
		t.Error(end, err)
	}
	if !l.aliased[before+1] {
		t.Error("the new shell has no alias")
	}
	l.gone(t)
}

// What ran in the background when the reader went runs again.
func TestResumeBackground(t *testing.T) {
	l := newLab(t)
	screen, _, err := l.walk(t, "a", "", "", "", "", "q")
	if err != nil || !strings.Contains(screen, "ended with this terminal: glow") {
		t.Fatalf("%v\n%s", err, screen)
	}
	if l.dark != 1 {
		t.Error("it was killed, and not asked to end")
	}
	screen, end, err := l.walk(t, "", "a", "")
	if err != nil || end != Finished || !strings.Contains(screen, "Restarted in terminal 2: glow") || !strings.Contains(screen, "dark\n") {
		t.Errorf("%v, %v\n%s", end, err, screen)
	}
}

// TestResumeTheirs: a program that runs in a terminal of the reader's is not started again, and the page does not return to it.
func TestResumeTheirs(t *testing.T) {
	l := newLab(t)
	// All up to "glow" is run; that is typed, and left running.
	if screen, _, err := l.walk(t, "a", "", "", "", "t", "", "q"); err != nil || strings.Contains(screen, "ended with this terminal") {
		t.Fatalf("%v\n%s", err, screen)
	}
	screen, _, err := l.walk(t, "q")
	if err != nil || strings.Contains(screen, "Runs again") || strings.Contains(screen, "You go back") {
		t.Errorf("%v\n%s", err, screen)
	}
}

// TestResumeVariables: a variable that was set to the output of a command keeps that value in a new shell.
func TestResumeVariables(t *testing.T) {
	l := newLabOf(t, `# A lamp

## Switch it

~~~console
$ put on
$ LAMP=$(list)
$ drop on
$ printf LAMP
on
~~~
`)
	if screen, end, err := l.walk(t, "", "", "", "q"); end != Left || err != nil {
		t.Fatalf("%v, %v\n%s", end, err, screen)
	}
	screen, end, err := l.walk(t, "")
	if end != Finished || err != nil || !strings.Contains(screen, "as on the page") {
		t.Errorf("%v, %v\n%s", end, err, screen)
	}
}

func TestFrom(t *testing.T) {
	for name, c := range map[string]struct {
		from    string
		answers []string
		want    string
	}{
		"steps before it are run":      {"Put it", []string{"", "a", ""}, "Done, with 1 command skipped"}, // docker's
		"or left out":                  {"3", []string{"s", "", "c", "", ""}, "step 2: $ list (skipped)"},
		"the step that is next anyway": {"1", []string{"q"}, "── 1 of 4"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.From = c.from
			screen, _, err := l.walk(t, c.answers...)
			if err != nil || !strings.Contains(screen, c.want) {
				t.Errorf("%v\n%s", err, screen)
			}
		})
	}
	l := newLab(t)
	l.From = "Swich it"
	_, _, err := l.walk(t)
	var none *NoStep
	if !errors.As(err, &none) || none.Guess != "Switch it" {
		t.Errorf("%v", err)
	}
	l.gone(t)
}

// Without a reader all of it is run, and the first difference ends it; nothing is left either way.
func TestYes(t *testing.T) {
	l := newLab(t)
	l.Yes = true
	var out bytes.Buffer
	l.Out = &out
	if end, err := l.Run(t.Context()); end != Finished || err != nil {
		t.Fatalf("%v, %v\n%s", end, err, out.String())
	}
	if !strings.Contains(out.String(), "✓ put right") || strings.Contains(out.String(), "[enter") {
		t.Error(out.String())
	}
	l.gone(t)
	l.Page.Steps[3].Blocks[0].Commands[1].Want[0].Text = "something"
	var failed *Failed
	var m *tutorial.Mismatch
	if end, err := l.Run(t.Context()); end != Left || !errors.As(err, &failed) || !errors.As(err, &m) || m.Want != "something" {
		t.Errorf("%v, %v", end, err)
	}
	l.gone(t)
}

// One page has one guide, and what holds it is not stopped.
func TestTwice(t *testing.T) {
	l := newLab(t)
	release, err := l.Shelf.take(l.Page)
	if err != nil {
		t.Fatal(err)
	}
	l.Out = new(bytes.Buffer)
	if _, err := l.Run(t.Context()); !errors.Is(err, ErrGuided) {
		t.Errorf("run: %v", err)
	}
	if _, err := l.Shelf.Stop(t.Context(), l.Page, l.Runner.Binary); !errors.Is(err, ErrGuided) {
		t.Errorf("stop: %v", err)
	}
	release()
	if left, err := l.Shelf.Stop(context.Background(), l.Page, l.Runner.Binary); err != nil || len(left) > 0 {
		t.Errorf("stop: %v, %v", left, err)
	}
	l.gone(t)
}

// A place in a page that has changed is the beginning of its step; one that is no JSON is an error with a way out.
func TestOldPlace(t *testing.T) {
	l := newLab(t)
	all := stops(l.Page)
	p := Place{Step: 2, Stop: 5, Text: "another command"}
	if !p.fit(all) || all[p.Stop].number != 2 || !all[p.Stop].first {
		t.Errorf("%+v", p)
	}
	dir := l.Shelf.World(l.Page)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, placeFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.Out = new(bytes.Buffer)
	if _, err := l.Run(t.Context()); err == nil || !strings.Contains(err.Error(), `"start lamp --again" begins again`) {
		t.Error(err)
	}
}
