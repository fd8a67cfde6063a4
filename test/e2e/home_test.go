package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// home is where sandboxes of a test live: a state directory of its own. When the test ends, nothing may be left in it
// and no process that belongs to it.
type home struct {
	t     *testing.T
	state string
	tmp   string
}

func newHome(t *testing.T) *home {
	t.Helper()
	// t.TempDir() is below a directory that only we may enter, and its paths are long.
	dir, err := os.MkdirTemp("", "vss-")
	if err != nil {
		t.Fatal(err)
	}
	h := &home{t: t, state: filepath.Join(dir, "state"), tmp: filepath.Join(dir, "tmp")}
	for _, d := range []string{dir, h.state, h.tmp} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
		if as != nil {
			if err := os.Chown(d, int(as.Uid), int(as.Gid)); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("sandboxes at the end of the failed test:\n%s", h.try("list", "-o", "wide").both())
			h.logTails()
		}
		h.try("down", "--all")
		h.checkNothingLeft()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return h
}

// cmd prepares the program with the given arguments.
func (h *home) cmd(args ...string) *exec.Cmd {
	c := exec.Command(binary, args...)
	c.Dir = h.tmp
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + h.tmp, "TMPDIR=" + h.tmp, "VSPHERE_SANDBOX_STATE=" + h.state, "LANG=C.UTF-8",
	}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	return c
}

// result is how a run of the program ended.
type result struct {
	out, err string
	code     int
}

func (r result) both() string { return r.out + r.err }

// try runs the program to its end.
func (h *home) try(args ...string) result {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c := h.cmd(args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Start(); err != nil {
		h.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- c.Wait() }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		_ = c.Process.Kill()
		<-done
		h.t.Fatalf("%s: still running after 2 minutes\n%s%s", strings.Join(args, " "), out.String(), errs.String())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		h.t.Fatal(err)
	}
	return result{out.String(), errs.String(), c.ProcessState.ExitCode()}
}

// must runs the program, which must end well, and returns what it wrote to stdout.
func (h *home) must(args ...string) string {
	h.t.Helper()
	r := h.try(args...)
	if r.code != 0 {
		h.t.Fatalf("vsphere-sandbox %s: exit status %d\n%s", strings.Join(args, " "), r.code, r.both())
	}
	return r.out
}

// processes lists the living processes that belong to this home, with their command lines.
func (h *home) processes() map[int]string {
	h.t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		h.t.Fatal(err)
	}
	ours := map[int]string{}
	for _, path := range all {
		env, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(env, []byte("VSPHERE_SANDBOX_STATE="+h.state+"\x00")) {
			continue
		}
		if pid := pidOf(path); pid > 0 {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			ours[pid] = strings.TrimSpace(string(bytes.ReplaceAll(line, []byte{0}, []byte(" "))))
		}
	}
	return ours
}

// checkNothingLeft fails the test if a process or file of its sandboxes is left.
func (h *home) checkNothingLeft() {
	h.t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	left := h.processes()
	for ; len(left) > 0 && time.Now().Before(deadline); left = h.processes() {
		time.Sleep(20 * time.Millisecond) // the death of another's process can't be waited for
	}
	for pid, line := range left {
		h.t.Errorf("process %d is left: %s", pid, line)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	for _, dir := range []string{h.state, h.tmp} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			h.t.Error(err)
		}
		for _, e := range entries {
			h.t.Errorf("left in %s: %s", filepath.Base(dir), e.Name())
		}
	}
}

// logTails shows the ends of the logs of every sandbox.
func (h *home) logTails() {
	logs, _ := filepath.Glob(filepath.Join(h.state, "*", "logs", "*.log"))
	more, _ := filepath.Glob(filepath.Join(h.state, "*", "logs", "*", "*.log"))
	for _, path := range append(logs, more...) {
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(b)), "\n")
		h.t.Logf("%s:\n%s", path, strings.Join(lines[max(0, len(lines)-6):], "\n"))
	}
}
