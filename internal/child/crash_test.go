package child_test

import (
	"errors"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
)

func TestCrash(t *testing.T) {
	for name, before := range map[string]func(*watched) error{
		"running":   func(*watched) error { return nil },
		"suspended": func(w *watched) error { return w.Suspend() },
	} {
		t.Run(name, func(t *testing.T) {
			r := newReports(t)
			w := start(t, "serve", func(s *child.Spec) { s.Files, s.Backoff.Min = []*os.File{r.write}, time.Millisecond })
			first := w.next(child.Started).PID
			r.line(t)
			if err := before(w); err != nil {
				t.Fatal(err)
			}
			if err := w.Crash(); err != nil {
				t.Fatal(err)
			}
			if exited := w.next(child.Exited); exited.PID != first || exited.Err == nil || exited.Err.Error() != "probe: signal: killed" {
				t.Errorf("exited: %+v", exited)
			}
			w.next(child.Restarting)
			second := w.next(child.Started).PID
			if name == "suspended" {
				requireSuspended(t, second, true)
				if err := w.Resume(); err != nil {
					t.Fatal(err)
				}
			}
			if pid := r.line(t); pid != strconv.Itoa(second) {
				t.Errorf("pid %s, want %d", pid, second)
			}
		})
	}
}

func TestCrashOfNoProcess(t *testing.T) {
	w := start(t, "exit 1", func(s *child.Spec) { s.Backoff.Min, s.Backoff.Max = time.Hour, time.Hour })
	w.next(child.Started)
	w.next(child.Exited)
	w.next(child.Restarting)
	if err := w.Crash(); !errors.Is(err, child.ErrNotRunning) {
		t.Errorf("during back-off: %v", err)
	}
	if err := w.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := w.Crash(); !errors.Is(err, child.ErrStopped) {
		t.Errorf("stopped: %v", err)
	}
}

// Renew asks first, and does not wait for an answer for ever.
func TestRenew(t *testing.T) {
	for role, grace := range map[string]time.Duration{"serve": time.Hour, "ignore-term": 50 * time.Millisecond} {
		t.Run(role, func(t *testing.T) {
			r := newReports(t)
			w := start(t, role, func(s *child.Spec) { s.Files, s.StopGrace = []*os.File{r.write}, grace })
			first := w.next(child.Started).PID
			r.line(t)
			if err := w.Renew(t.Context()); err != nil {
				t.Fatal(err)
			}
			if again := w.next(child.Restarting); again.PID != first || again.Backoff != 0 {
				t.Errorf("restarting: %+v", again)
			}
			second := w.next(child.Started).PID
			if pid := r.line(t); pid != strconv.Itoa(second) || second == first {
				t.Errorf("pid %s, want %d, and not %d", pid, second, first)
			}
		})
	}
}
