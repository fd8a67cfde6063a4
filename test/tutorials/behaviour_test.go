package tutorials

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/mutants"
)

// A change of behavior breaks the page about it, at the right place: with a provider that gives a VM that is off no
// shutdown taint, the first page fails at that taint, and not before.
func TestBehaviour(t *testing.T) {
	root := sources(t)
	all := mutants.All()
	i := slices.IndexFunc(all, func(m mutants.Mutant) bool { return m.Name == "shutdown-needs-guest" })
	if i < 0 {
		t.Fatal("the mutant is gone that breaks the page")
	}
	folder := openDir(t)
	ccm := build(t, all[i], root, folder)
	// As far as "up" shows, the program with another provider built in: a script in its place.
	changed := filepath.Join(folder, "vsphere-sandbox")
	script := fmt.Sprintf("#!/bin/sh\ncase $1 in\nup) shift; exec %s up --ccm %s \"$@\" ;;\nesac\nexec %s \"$@\"\n", binary, ccm, binary)
	if err := os.WriteFile(changed, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	page, err := tutorial.Load(filepath.Join(root, "tutorials", "01-first-run", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	r := runner(t, page)
	r.Binary = changed
	var m *tutorial.Mismatch
	if err := r.Run(until(t), page); !errors.As(err, &m) {
		t.Fatalf("the page was run, with %v", err)
	}
	if !strings.Contains(m.Want, "shutdown") && !strings.Contains(m.Command, "shutdown") {
		t.Errorf("fails of something else: %v", m)
	}
}

// openDir is a directory that the user of the pages may read.
func openDir(t *testing.T) string {
	t.Helper()
	dir := shortDir(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
