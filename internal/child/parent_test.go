package child_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
)

// startParent runs a process that supervises a child playing role, and waits until that child is up. Closing the returned
// pipe makes the parent suspend it.
func startParent(t *testing.T, role string, r *reports) (parent *exec.Cmd, stdin io.Closer, stdout *bufio.Reader) {
	t.Helper()
	parent = exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), roleEnv+"=parent "+role)
	parent.ExtraFiles = []*os.File{r.write}
	in, err := parent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	r.line(t)
	return parent, in, bufio.NewReader(out)
}

func kill(t *testing.T, parent *exec.Cmd) {
	t.Helper()
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := parent.Wait(); err == nil {
		t.Fatal("the parent ended by itself")
	}
}

func TestLifelineEndsTheChildOfAKilledParent(t *testing.T) {
	r := newReports(t)
	parent, _, _ := startParent(t, "lifeline", r)
	kill(t, parent)
	r.requireGone(t)
}

func TestLifelineOfAProcessThatIsNoChild(t *testing.T) {
	exit := func(int) { t.Error("exit was called") }
	if err := child.Lifeline(exit); err != nil {
		t.Error(err)
	}
	for value, want := range map[string]string{
		"x":    "is not a file descriptor",
		"0":    "is not a file descriptor",
		"9999": "bad file descriptor",
	} {
		t.Setenv(child.LifelineEnv, value)
		if err := child.Lifeline(exit); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", value, err, want)
		}
	}
}
