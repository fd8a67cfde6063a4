// Package golden compares the output of a report with a file in testdata. `go test -update` rewrites the file; review the
// difference.
//
// Only tests import it.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
)

var update = flag.Bool("update", false, "rewrite golden files")

// Test is a *testing.T.
type Test interface {
	Helper()
	Fatal(args ...any)
	Errorf(format string, args ...any)
}

// Equal compares got with testdata/<name>.
func Equal(t Test, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err, "; run with -update")
	}
	want, have := strings.Split(string(b), "\n"), strings.Split(got, "\n")
	for i := range max(len(want), len(have)) {
		if line(want, i) != line(have, i) {
			t.Errorf("%s:%d:\nwant %s\ngot  %s", path, i+1, line(want, i), line(have, i))
			return
		}
	}
}

// line returns a line of a text, or a placeholder.
func line(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(no such line)"
}
