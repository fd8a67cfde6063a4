package child_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
)

// A process stands still when AwaitStopped returns. AwaitStopped waits for one that runs until ctx ends, and for one that has ended not at all.
func TestAwaitStopped(t *testing.T) {
	r := newReports(t)
	w := start(t, "serve", func(s *child.Spec) { s.Files = []*os.File{r.write} })
	pid := w.next(child.Started).PID
	r.line(t)
	for range 20 {
		if err := w.Suspend(); err != nil {
			t.Fatal(err)
		}
		child.AwaitStopped(t.Context(), pid)
		if !isSuspended(t, pid) {
			t.Fatal("it does not stand still")
		}
		if err := w.Resume(); err != nil {
			t.Fatal(err)
		}
	}
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	child.AwaitStopped(soon, pid)
	if soon.Err() == nil {
		t.Error("a process that runs is taken for one that stands still")
	}
	if err := w.Kill(); err != nil {
		t.Fatal(err)
	}
	child.AwaitStopped(t.Context(), pid)
}
