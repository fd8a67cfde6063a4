package tuitest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

// The flag is that of x/exp/golden, where a test links that, too: teatest does.
var _ = flag.Lookup("update") != nil || flag.Bool("update", false, "rewrite golden files") != nil

func update() bool { return flag.Lookup("update").Value.String() == "true" }

// Golden compares a view, without colors, with testdata/<name>.golden of the package under test. Spaces at the ends of
// lines are not compared: that a view fills its place is for [Fills].
func Golden(t *testing.T, name, view string) {
	t.Helper()
	golden(t, name, ansi.Strip(view))
}

// Colored compares a view with its escape sequences, in which ESC is written ␛, so that a reviewer sees them.
func Colored(t *testing.T, name, view string) {
	t.Helper()
	golden(t, name, strings.ReplaceAll(view, "\x1b", "␛"))
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	lines := strings.Split(strings.TrimRight(got, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	got = strings.Join(lines, "\n") + "\n"
	path := filepath.Join("testdata", name+".golden")
	if update() {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (-update writes it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update accepts it):\n%s", path, diff)
	}
}

// Fills checks that a view is exactly as many lines as it is to be high, each exactly as many cells as it is to be wide.
func Fills(t *testing.T, view string, width, height int) {
	t.Helper()
	lines := strings.Split(view, "\n")
	if len(lines) != height {
		t.Errorf("%dx%d: it has %d lines", width, height, len(lines))
	}
	for i, line := range lines {
		if n := ansi.StringWidth(line); n != width {
			t.Errorf("%dx%d: line %d has %d cells: %q", width, height, i+1, n, ansi.Strip(line))
		}
	}
}
