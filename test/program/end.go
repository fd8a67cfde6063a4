package program

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// End takes the sandboxes of the home down and wants nothing to be left of them: no process, and nothing in these folders.
// When the test has failed, it shows them first. It is for the test's cleanup.
func (h *Home) End(folders ...string) {
	h.T.Helper()
	if h.T.Failed() {
		h.T.Logf("sandboxes at the end of the failed test:\n%s", h.Try("list", "-o", "wide").Both())
		h.logTails()
	}
	h.Try("down", "--all")
	h.NothingLeft(folders...)
}

// NothingLeft fails the test if a process of its sandboxes is left, which it then kills, or anything in these folders.
func (h *Home) NothingLeft(folders ...string) {
	h.T.Helper()
	deadline := time.Now().Add(10 * time.Second)
	left := h.Processes()
	for ; len(left) > 0 && time.Now().Before(deadline); left = h.Processes() {
		time.Sleep(20 * time.Millisecond) // the death of another's child can't be waited for
	}
	for pid, line := range left {
		h.T.Errorf("process %d is left: %s", pid, line)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	for _, dir := range folders {
		entries, err := os.ReadDir(dir)
		if err != nil {
			h.T.Error(err)
		}
		for _, e := range entries {
			h.T.Errorf("left in %s: %s", filepath.Base(dir), e.Name())
		}
	}
}

// logTails shows the ends of the logs of every sandbox.
func (h *Home) logTails() {
	logs, _ := filepath.Glob(filepath.Join(h.State, "*", "logs", "*.log"))
	more, _ := filepath.Glob(filepath.Join(h.State, "*", "logs", "*", "*.log"))
	for _, path := range slices.Concat(logs, more) {
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(b)), "\n")
		h.T.Logf("%s:\n%s", path, strings.Join(lines[max(0, len(lines)-8):], "\n"))
	}
}
