package child_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
)

func TestCrashIsRestartedWithBackoff(t *testing.T) {
	log := filepath.Join(t.TempDir(), "node", "probe.log")
	w := start(t, "exit 3", func(s *child.Spec) { s.LogPath = log })
	var pauses []time.Duration
	pids := map[int]bool{}
	for range 5 {
		started := w.next(child.Started)
		pids[started.PID] = true
		exited := w.next(child.Exited)
		if exited.PID != started.PID {
			t.Errorf("started %d, exited %d", started.PID, exited.PID)
		}
		var exit *exec.ExitError
		if !errors.As(exited.Err, &exit) || exit.ExitCode() != 3 || exited.Err.Error() != "probe: exit status 3" {
			t.Errorf("exited with %v", exited.Err)
		}
		if diff := cmp.Diff([]string{"about to exit with 3"}, exited.Tail); diff != "" {
			t.Errorf("tail, of this run only (-want +got):\n%s", diff)
		}
		pauses = append(pauses, w.next(child.Restarting).Backoff)
	}
	want := []time.Duration{5, 10, 20, 20, 20}
	for i := range want {
		want[i] *= time.Millisecond
	}
	if diff := cmp.Diff(want, pauses); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
	if len(pids) != 5 {
		t.Errorf("5 starts had the pids %v", pids)
	}
	if n := w.Restarts(); n < 4 {
		t.Errorf("%d restarts", n)
	}
}

func TestCleanExitIsRestartedToo(t *testing.T) {
	w := start(t, "exit 0", nil)
	w.next(child.Started)
	if exited := w.next(child.Exited); exited.Err != nil {
		t.Errorf("exit status 0 is %v", exited.Err)
	}
	w.next(child.Restarting)
	w.next(child.Started)
}

func TestOnce(t *testing.T) {
	w := start(t, "exit 3", func(s *child.Spec) { s.Once = true })
	w.next(child.Started)
	if exited := w.next(child.Exited); exited.Err == nil {
		t.Error("exit status 3 is no error")
	}
	<-w.Done()
	w.last()
	if err := w.Restart(t.Context()); !errors.Is(err, child.ErrStopped) {
		t.Errorf("restart: %v", err)
	}
	if err := w.Suspend(); !errors.Is(err, child.ErrStopped) {
		t.Errorf("suspend: %v", err)
	}
}

func TestStartFailureIsTriedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	w := start(t, "serve", func(s *child.Spec) { s.Path = path })
	for range 2 {
		exited := w.next(child.Exited)
		if !errors.Is(exited.Err, fs.ErrNotExist) || !strings.HasPrefix(exited.Err.Error(), "probe: ") || exited.PID != 0 {
			t.Errorf("exited: %+v", exited)
		}
		w.next(child.Restarting)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	for {
		change := <-w.changes
		if change.State == child.Started {
			break
		}
		if change.State == child.Stopped {
			t.Fatalf("stopped: %v", change.Err)
		}
	}
	if n := w.Restarts(); n != 0 {
		t.Errorf("%d restarts before the first successful start", n)
	}
}

func TestUnusableLogIsAStartFailure(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w := start(t, "serve", func(s *child.Spec) { s.LogPath = filepath.Join(file, "probe.log") })
	if exited := w.next(child.Exited); exited.Err == nil {
		t.Error("no error")
	}
}

func TestRestart(t *testing.T) {
	r := newReports(t)
	w := start(t, "serve", func(s *child.Spec) { s.Files = []*os.File{r.write} })
	first := w.next(child.Started).PID
	if pid := r.line(t); pid != strconv.Itoa(first) || w.PID() != first {
		t.Fatalf("child says its pid is %s, the change said %d, PID says %d", pid, first, w.PID())
	}
	if err := w.Suspend(); err != nil {
		t.Fatal(err)
	}
	if err := w.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again := w.next(child.Restarting); again.PID != first || again.Backoff != 0 {
		t.Errorf("restarting: %+v", again)
	}
	second := w.next(child.Started).PID
	if pid := r.line(t); pid != strconv.Itoa(second) || second == first { // it runs: not suspended any more
		t.Fatalf("second pid %s, want %d, and not %d", pid, second, first)
	}
	if n := w.Restarts(); n != 1 {
		t.Errorf("%d restarts, want 1", n)
	}
}

func TestRestartCutsTheBackoffShort(t *testing.T) {
	w := start(t, "exit 1", func(s *child.Spec) { s.Backoff.Min, s.Backoff.Max = time.Hour, 2*time.Hour })
	for range 3 {
		w.next(child.Started)
		w.next(child.Exited)
		if pause := w.next(child.Restarting).Backoff; pause != time.Hour {
			t.Errorf("pause is %v, want the first one again", pause)
		}
		if err := w.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRestartReportsThatItCouldNot(t *testing.T) {
	w := start(t, "serve", func(s *child.Spec) {
		s.Path = "/nonexistent/program"
		s.Backoff.Min, s.Backoff.Max = time.Hour, time.Hour
	})
	w.next(child.Exited)
	w.next(child.Restarting)
	if err := w.Restart(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("restart: %v", err)
	}
}
