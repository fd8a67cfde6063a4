package kubelet

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// A kubelet that never looks for its plugins ends with the reason; one that looks, or that is stopped, does not.
func TestAwaitFound(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		found := make(chan struct{})
		if err := awaitFound(t.Context(), found, time.Minute, dir); err == nil || !strings.Contains(err.Error(), "within 1m0s") {
			t.Errorf("never found: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := awaitFound(ctx, found, time.Minute, dir); err != nil {
			t.Errorf("stopped: %v", err)
		}
		close(found)
		if err := awaitFound(t.Context(), found, time.Minute, dir); err != nil {
			t.Errorf("found: %v", err)
		}
	})
}

// Without an inotify instance or a file descriptor the error names the limit. A separate process sets the limit.
func TestWatchable(t *testing.T) {
	if os.Getenv("TEST_WATCHABLE") != "" {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 3, Max: 3}); err != nil {
			t.Fatal(err)
		}
		if err := watchable("/"); err == nil || !strings.Contains(err.Error(), "fs.inotify.max_user_instances") {
			t.Fatalf("without a file descriptor: %v", err)
		}
		return
	}
	if err := watchable(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWatchable$")
	cmd.Env = append(os.Environ(), "TEST_WATCHABLE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
