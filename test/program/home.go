package program

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Options are whose program a home runs, and how.
type Options struct {
	// Binary is the program's path.
	Binary string
	// As is the user to run it as; nil for the current one.
	As *syscall.Credential
	// Patience is how long a command may take; zero for two minutes.
	Patience time.Duration
	// Env are variables besides those that every home has.
	Env []string
}

// Home is where the program of one test keeps its things, and all that it sees of the machine's environment. Its methods
// may be called from the goroutine of the test only.
type Home struct {
	Options
	T *testing.T
	// Dir is below the directory of temporary files; State and Tmp are in it: the state directory, and the folder that is
	// home, working directory and place for temporary files.
	Dir, State, Tmp string
}

// NewHome makes a home, which is removed with the test.
func NewHome(t *testing.T, o Options) *Home {
	t.Helper()
	// Paths of t.TempDir() are long, which those of sockets may not be, and only we may enter them.
	dir, err := os.MkdirTemp("", "vss-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if o.Patience == 0 {
		o.Patience = 2 * time.Minute
	}
	h := &Home{Options: o, T: t, Dir: dir, State: filepath.Join(dir, "state"), Tmp: filepath.Join(dir, "tmp")}
	for _, d := range []string{h.Dir, h.State, h.Tmp} {
		err := os.MkdirAll(d, 0o700)
		if err == nil && o.As != nil {
			err = os.Chown(d, int(o.As.Uid), int(o.As.Gid))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// In is the home for a test within the one that made it, whose failures are that test's own.
func (h *Home) In(t *testing.T) *Home {
	of := *h
	of.T = t
	return &of
}

// Cmd prepares the program with arguments.
func (h *Home) Cmd(args ...string) *exec.Cmd {
	c := exec.Command(h.Binary, args...)
	c.Dir = h.Tmp
	c.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + h.Tmp, "TMPDIR=" + h.Tmp, "VSPHERE_SANDBOX_STATE=" + h.State, "LANG=C.UTF-8",
	}, h.Env...)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: h.As}
	return c
}

// Try runs the program to its end.
func (h *Home) Try(args ...string) Result {
	h.T.Helper()
	return h.Within(h.Patience, args...)
}

// Within is Try with another patience.
func (h *Home) Within(most time.Duration, args ...string) Result {
	h.T.Helper()
	return Finish(h.T, h.Cmd(args...), most)
}

// Must runs the program, which has to end well, and returns what it wrote to standard output.
func (h *Home) Must(args ...string) string {
	h.T.Helper()
	r := h.Try(args...)
	if r.Code != 0 {
		h.T.Fatalf("vsphere-sandbox %s: exit status %d\n%s", strings.Join(args, " "), r.Code, r.Both())
	}
	return r.Out
}

// File writes a file for the program, readable only by the user that runs it, and returns its path. It is removed with
// the home.
func (h *Home) File(name, text string) string {
	h.T.Helper()
	path := filepath.Join(h.Dir, name)
	err := os.WriteFile(path, []byte(text), 0o600)
	if err == nil && h.As != nil {
		err = os.Chown(path, int(h.As.Uid), int(h.As.Gid))
	}
	if err != nil {
		h.T.Fatal(err)
	}
	return path
}

// Processes lists the living processes that belong to this home, with their command lines.
func (h *Home) Processes() map[int]string {
	h.T.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		h.T.Fatal(err)
	}
	ours := map[int]string{}
	for _, path := range all {
		env, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(env, []byte("VSPHERE_SANDBOX_STATE="+h.State+"\x00")) {
			continue
		}
		if pid := PIDOf(path); pid > 0 {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			ours[pid] = strings.TrimSpace(string(bytes.ReplaceAll(line, []byte{0}, []byte(" "))))
		}
	}
	return ours
}
