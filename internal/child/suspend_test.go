package child_test

import (
	"os"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
)

// requireSuspended waits until the process is suspended, or is not: the kernel
// stops it some time after the signal has been sent.
func requireSuspended(t *testing.T, pid int, want bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for isSuspended(t, pid) != want {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("process %d: suspended is not %v", pid, want)
		}
	}
}

func TestSuspendAndResume(t *testing.T) {
	r := newReports(t)
	w := start(t, "serve", func(s *child.Spec) { s.Files = []*os.File{r.write} })
	pid := w.next(child.Started).PID
	r.line(t)
	if err := w.Suspend(); err != nil {
		t.Fatal(err)
	}
	requireSuspended(t, pid, true)
	if err := w.Resume(); err != nil {
		t.Fatal(err)
	}
	requireSuspended(t, pid, false)
}

// A VM that is suspended stays so even if its process is killed.
func TestSuspendedChildIsStartedSuspended(t *testing.T) {
	w := start(t, "exit 1", func(s *child.Spec) { s.Backoff.Min = 20 * time.Millisecond })
	w.next(child.Started)
	w.next(child.Exited)
	if err := w.Suspend(); err != nil {
		t.Fatal(err)
	}
	w.next(child.Restarting)
	pid := w.next(child.Started).PID
	requireSuspended(t, pid, true)
	if err := w.Resume(); err != nil {
		t.Fatal(err)
	}
	w.next(child.Exited)
}
