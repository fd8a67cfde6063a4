package e2e

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// listed is a line of "list -o json".
type listed struct {
	Name, State, Dir string
	PID              int
	Crash            struct{ Reason string }
}

func (h *home) list() []listed {
	h.T.Helper()
	var l struct{ Items []listed }
	if err := json.Unmarshal([]byte(h.Must("list", "-o", "json")), &l); err != nil {
		h.T.Fatal(err)
	}
	return l.Items
}

// vcenters boots a sandbox of vCenters alone and returns its process.
func (h *home) vcenters(name string) int {
	h.T.Helper()
	h.Must("--name", name, "vcenter", "up", "--detach", "--listen", "127.0.0.1:0", "-f", "single")
	for _, s := range h.list() {
		if s.Name == name && s.PID > 0 {
			return s.PID
		}
	}
	h.T.Fatalf("sandbox %q is not listed", name)
	return 0
}

// After a crash the first command, for this sandbox or another, reports what ended it and keeps what it left.
func TestCrashKeepsTheEvidence(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	pid := h.vcenters("cr")
	if err := syscall.Kill(pid, syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	h.awaitNoProcesses()
	for _, tc := range []struct {
		args string
		exit int
		says string
	}{
		{"--name other get vms", 1, `sandbox "cr" crashed: SIGQUIT: quit`},
		{"--name cr status", 3, "Ended by:     SIGQUIT: quit"},
		{"--name cr status -o json", 3, `"reason": "SIGQUIT: quit"`},
		{"--name cr get vms", 1, "SIGQUIT: quit"},
		{"--name cr get vms -o json", 1, filepath.Join(h.State, "cr")},
		{"list", 0, `sandbox "cr" crashed: SIGQUIT: quit`},
		{"--name cr logs sandbox", 0, "goroutine 1 "},
	} {
		r := h.Try(strings.Fields(tc.args)...)
		if r.Code != tc.exit || !strings.Contains(r.Both(), tc.says) {
			t.Errorf("%s: exit status %d, want %d and %q\n%.2000s", tc.args, r.Code, tc.exit, tc.says, r.Both())
		}
	}
	if all := h.list(); len(all) != 1 || all[0].State != "crashed" || all[0].Crash.Reason != "SIGQUIT: quit" || all[0].Dir == "" {
		t.Errorf("listed %+v", all)
	}
	archive := filepath.Join(h.Tmp, "bug.tar.gz")
	h.Must("--name", "cr", "doctor", "--bundle", archive)
	packed := files(t, archive)
	for _, want := range []string{"sandboxes/cr/events.jsonl", "sandboxes/cr/logs/sandbox.log"} {
		if !strings.Contains(packed, want+"\n") {
			t.Errorf("the bundle lacks %s:\n%s", want, packed)
		}
	}
	if err := os.Remove(archive); err != nil {
		t.Error(err)
	}
	h.Must("--name", "cr", "down")
	h.nothingLeft()
}

// files lists what is in an archive.
func files(t *testing.T, archive string) string {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var names strings.Builder
	for r := tar.NewReader(z); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		_, inside, _ := strings.Cut(header.Name, "/") // the folder of the archive
		fmt.Fprintln(&names, header.Name)
		fmt.Fprintln(&names, inside)
	}
}

// A terminal that is closed ends a sandbox in it in order: the shell sends a hang-up, and so does the kernel.
func TestClosedTerminal(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	term := h.openTerminal(100, 30, "version")
	command := quote(h.Binary, "--name", "tty", "vcenter", "up", "--listen", "127.0.0.1:0", "-f", "single")
	if out, err := term.tmux("new-session", "-d", "-s", "shell", "env", "HISTFILE=", "bash", "--norc", "--noprofile", "-i").CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v\n%s", err, out)
	}
	term.press("-t", "shell", command, "Enter")
	h.awaitListed("tty", "ready")
	if out, err := term.tmux("kill-session", "-t", "shell").CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v\n%s", err, out)
	}
	h.awaitUnlisted("tty")
	left, err := os.ReadDir(h.State)
	if err != nil || len(left) != 0 {
		t.Errorf("left in the state directory: %v, %v", left, err)
	}
}

// Hang-ups do not add up, and a sandbox ends in order although its output has no reader any more.
func TestHangUpWithoutReader(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.Cmd("--name", "hup", "vcenter", "up", "--listen", "127.0.0.1:0", "-f", "single")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout, c.Stderr = w, w
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	h.awaitListed("hup", "ready")
	r.Close()
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for again := time.NewTicker(time.Millisecond); ; {
		_ = c.Process.Signal(syscall.SIGHUP) // also while it cleans up
		select {
		case err := <-ended: // by one of them, where it came when all was cleaned up
			t.Logf("it ended with %v", err)
			h.nothingLeft()
			return
		case <-again.C:
		}
	}
}

// A sandbox whose directory is removed under it ends and leaves nothing; until then it is found, and its name is taken.
func TestRemovedDirectory(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	pid := h.vcenters("rm")
	if err := os.RemoveAll(filepath.Join(h.State, "rm")); err != nil {
		t.Fatal(err)
	}
	// It may have ended by now, which takes it a second.
	if all := h.list(); len(all) > 0 && (all[0].State != "removed" || all[0].PID != pid) {
		t.Errorf("listed %+v", all)
	}
	if r := h.Try("--name", "rm", "vcenter", "up", "--detach", "--listen", "127.0.0.1:0", "-f", "single"); r.Code != 0 && (!strings.Contains(r.Err, "its directory was removed") || !strings.Contains(r.Err, "try: ")) {
		t.Errorf("up of its name: exit status %d\n%s", r.Code, r.Both())
	}
	h.Must("--name", "rm", "down")
	if runs(pid) {
		t.Errorf("process %d is still there", pid)
	}
	h.nothingLeft()
	h.vcenters("rm") // and nothing asks it to end but this:
	if err := os.RemoveAll(filepath.Join(h.State, "rm")); err != nil {
		t.Fatal(err)
	}
	h.awaitNoProcesses()
	h.nothingLeft()
	h.vcenters("rm")
	h.Must("--name", "rm", "down")
	h.nothingLeft()
}

// When down returns, the process is gone.
func TestDownWaitsForTheProcess(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for range 3 {
		pid := h.vcenters("down")
		h.Must("--name", "down", "down")
		if runs(pid) {
			t.Errorf("process %d is still there", pid)
		}
	}
	h.nothingLeft()
}

// runs reports that there is a process of that number which is no zombie: those are for their parent to reap.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// Where there is no place for sandboxes, or one that others can write to, that is one clear error.
func TestUnusableStateDirectory(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	file := h.File("file", "")
	shared := filepath.Join(h.Dir, "shared")
	if err := errors.Join(os.Mkdir(shared, 0o700), os.Chmod(shared, 0o777|os.ModeSticky)); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		env      []string
		commands []string
	}{
		"home is a file":     {[]string{"HOME=" + file, "VSPHERE_SANDBOX_STATE="}, []string{"list", "status", "get nodes", "down", "vcenter up -f single"}},
		"state is a file":    {[]string{"VSPHERE_SANDBOX_STATE=/etc/passwd"}, []string{"list", "status", "get nodes", "down", "vcenter up -f single"}},
		"it cannot be made":  {[]string{"VSPHERE_SANDBOX_STATE=/proc/foo"}, []string{"vcenter up -f single"}},
		"others write to it": {[]string{"VSPHERE_SANDBOX_STATE=" + shared}, []string{"list", "status", "get nodes", "down", "down --all", "vcenter up -f single"}},
	} {
		for _, args := range tc.commands {
			c := h.Cmd(strings.Fields(args)...)
			c.Env = append(c.Env, tc.env...)
			r := program.Finish(t, c, time.Minute)
			if r.Code != 4 || strings.Count(r.Err, "error: ") != 1 || !strings.Contains(r.Err, "\ntry: ") || strings.Contains(r.Err, "crashed") || strings.Contains(r.Err, "did not end") {
				t.Errorf("%s: %s: exit status %d\n%s", name, args, r.Code, r.Both())
			}
		}
	}
	h.nothingLeft()
}

// awaitListed waits until a sandbox is in a state.
func (h *home) awaitListed(name, state string) {
	h.T.Helper()
	h.awaitList(fmt.Sprintf("%s is %s", name, state), func(all []listed) bool {
		for _, s := range all {
			if s.Name == name && s.State == state {
				return true
			}
		}
		return false
	})
}

// awaitUnlisted waits until there is no sandbox of a name, not even a dead one.
func (h *home) awaitUnlisted(name string) {
	h.T.Helper()
	h.awaitList("there is no "+name, func(all []listed) bool {
		for _, s := range all {
			if s.Name == name {
				return false
			}
		}
		return true
	})
}

func (h *home) awaitList(what string, holds func([]listed) bool) {
	h.T.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		all := h.list()
		if holds(all) {
			return
		}
		if time.Now().After(deadline) {
			h.T.Fatalf("waited a minute for: %s; listed %+v", what, all)
		}
		time.Sleep(50 * time.Millisecond) // a list does not announce that it has changed
	}
}
