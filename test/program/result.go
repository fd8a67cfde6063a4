package program

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Result is how a run of a program ended.
type Result struct {
	Out, Err string
	Code     int // exit status, -1 when a signal ended it
}

// Both is all that it said.
func (r Result) Both() string { return r.Out + r.Err }

// Wants fails the test if a run has ended with another status, or has not said all of these things.
func (r Result) Wants(t *testing.T, code int, says ...string) {
	t.Helper()
	if r.Code != code {
		t.Errorf("exit status %d, want %d\n%s", r.Code, code, r.Both())
	}
	for _, text := range says {
		if !strings.Contains(r.Both(), text) {
			t.Errorf("does not say %q:\n%s", text, r.Both())
		}
	}
}

// Finish runs a program to its end. A program that takes longer than most fails the test and gets SIGTERM, and SIGKILL a
// while later.
func Finish(t *testing.T, c *exec.Cmd, most time.Duration) Result {
	t.Helper()
	const parting = 30 * time.Second
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(most, func() { _ = c.Process.Signal(syscall.SIGTERM) })
	dead := time.AfterFunc(most+parting, func() { _ = c.Process.Kill() })
	err := c.Wait()
	dead.Stop()
	if !late.Stop() {
		t.Errorf("%s: still running after %s\n%s%s", strings.Join(c.Args, " "), most, out.String(), said.String())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return Result{out.String(), said.String(), c.ProcessState.ExitCode()}
}

// PIDOf reads the process id out of the path of a file below /proc.
func PIDOf(path string) int {
	pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
	return pid
}
