package child_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
)

// The child of these tests knows nothing of the lifeline, as a foreign program
// would not.
func TestKernelEndsTheChildOfAKilledParent(t *testing.T) {
	r := newReports(t)
	parent, _, _ := startParent(t, "ignore-term", r)
	kill(t, parent)
	r.requireGone(t)
}

func TestKernelEndsTheSuspendedChildOfAKilledParent(t *testing.T) {
	r := newReports(t)
	parent, stdin, stdout := startParent(t, "ignore-term", r)
	stdin.Close()
	if line, err := stdout.ReadString('\n'); err != nil || line != "suspended\n" {
		t.Fatalf("parent says %q, %v", line, err)
	}
	kill(t, parent)
	r.requireGone(t)
}

// A rebuild replaces the program of a running sandbox; its children must still run the old one.
func TestProgramOutlivesItsFile(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	if out, err := exec.CommandContext(t.Context(), "cp", os.Args[0], program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r := newReports(t)
	w := start(t, "removed serve", func(s *child.Spec) { s.Path, s.Files = program, []*os.File{r.write} })
	w.next(child.Started)
	r.line(t)
	if _, err := os.Stat(program); err == nil {
		t.Error("the program's file is still there")
	}
}
