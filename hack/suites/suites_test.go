package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// fake is a make whose targets do what the script says.
func fake(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "make")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nshift\ncase $1 in\n"+script+"\nesac\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRun(t *testing.T) {
	const pkg = "github.com/vsphere-sandbox/vsphere-sandbox/pkg/"
	script := `build) echo compiling ;;
bad) printf -- '--- FAIL: TestA (0.10s)\n    --- FAIL: TestA/of-two (0.10s)\nFAIL\n'; printf 'FAIL\t` + pkg + `a\t21.5s\n'; exit 2 ;;
broken) printf 'FAIL\t` + pkg + `b [build failed]\n' >&2; exit 2 ;;
good) printf 'ok  \t` + pkg + `c\t1.2s\nok  \t` + pkg + `d\t90.4s\nok  \t` + pkg + `e\t(cached)\n' ;;`
	var out bytes.Buffer
	r := &runner{make: fake(t, script), out: &out, quiet: time.Minute}
	if code := r.run(t.Context(), "build", []string{"bad", "broken", "good"}); code != 1 {
		t.Errorf("exit status %d", code)
	}
	_, got, _ := strings.Cut(out.String(), "\nsuite ")
	got = regexp.MustCompile(`0:0\d\b`).ReplaceAllString(got, "0:00")
	want := `                        result           time
build                         ok               0:00
bad                           FAILED           0:00
  pkg/a                                        0:22
  failed: TestA
  failed: TestA/of-two
  failed: github.com/vsphere-sandbox/vsphere-sandbox/pkg/a
  failed: exit status 2
broken                        FAILED           0:00
  failed: github.com/vsphere-sandbox/vsphere-sandbox/pkg/b
  failed: exit status 2
good                          ok               0:00
  pkg/d                                        1:30
in all                                         0:00
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	for _, passedOn := range []string{"== build\ncompiling\n", "== bad\n--- FAIL: TestA", "e\t(cached)\n"} {
		if !strings.Contains(out.String(), passedOn) {
			t.Errorf("%q is not in:\n%s", passedOn, out.String())
		}
	}
}

// What all need comes first, and without it nothing is run.
func TestFirstFails(t *testing.T) {
	var out bytes.Buffer
	r := &runner{make: fake(t, "build) exit 2 ;;\n*) echo ran $1 ;;"), out: &out, quiet: time.Minute}
	if code := r.run(t.Context(), "build", []string{"unit"}); code != 1 {
		t.Errorf("exit status %d", code)
	}
	if got := out.String(); strings.Contains(got, "ran ") || !regexp.MustCompile(`(?m)^unit +not run`).MatchString(got) {
		t.Errorf("%s", got)
	}
}

// After an interruption the suite that ran is said to be cut off, and the others are not run.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var out bytes.Buffer
	begun := &trigger{Buffer: &out, text: "begun", then: cancel}
	// The sleep holds the pipe, and gets the signal that its parent does: as make and what it runs do.
	r := &runner{make: fake(t, "one) echo begun; exec sleep 60 ;;\n*) echo ran $1 ;;"), out: begun, quiet: time.Minute}
	if code := r.run(ctx, "", []string{"one", "two"}); code != 130 {
		t.Errorf("exit status %d\n%s", code, out.String())
	}
	if got := out.String(); !regexp.MustCompile(`(?m)^one +interrupted`).MatchString(got) || !regexp.MustCompile(`(?m)^two +not run`).MatchString(got) {
		t.Errorf("%s", got)
	}
}

// trigger is a writer that does something once a text has been written.
type trigger struct {
	*bytes.Buffer
	text string
	then func()
}

func (w *trigger) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if strings.Contains(w.String(), w.text) {
		w.then()
	}
	return n, err
}

// A suite that prints nothing is said to be running.
func TestSilence(t *testing.T) {
	var out bytes.Buffer
	said := &trigger{Buffer: &out, text: "slow runs for", then: func() {}}
	// It ends once the line has been printed, which it sees in a file that the trigger makes.
	mark := filepath.Join(t.TempDir(), "mark")
	said.then = func() { _ = os.WriteFile(mark, nil, 0o600) }
	r := &runner{make: fake(t, "slow) while [ ! -e "+mark+" ]; do sleep 0.01; done ;;"), out: said, quiet: 10 * time.Millisecond}
	if code := r.run(t.Context(), "", []string{"slow"}); code != 0 {
		t.Errorf("exit status %d\n%s", code, out.String())
	}
}
