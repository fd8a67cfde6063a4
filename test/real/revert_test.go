package real

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// journals are the files in the state directory that tell of writes.
func (h *home) journals() []string {
	h.T.Helper()
	found, err := filepath.Glob(filepath.Join(h.State, "*writes*"))
	if err != nil {
		h.T.Fatal(err)
	}
	for _, file := range found {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			h.T.Errorf("%s: %v, %v", file, info, err)
		}
	}
	return found
}

// secretFree fails the test where a journal holds a password.
func (h *home) secretFree(s *standIn) {
	h.T.Helper()
	for _, file := range h.journals() {
		if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), s.Password) {
			h.T.Errorf("%s holds the password, or cannot be read: %v", file, err)
		}
	}
}

// Ctrl-C during a revert: it ends, reports what is left and how to continue, and that works.
func TestRevertInterrupted(t *testing.T) {
	everywhere(t, func(t *testing.T, s *standIn) {
		h, p := newHome(t), newProxy(t, s)
		inside, _ := s.paths()
		box := h.foreground("cut", "--vcenter-config", p.config(h), "--folder", "k8s", "--allow-writes", "--write-folder", folder)
		box.run("vm", "power-off", name(inside), "--yes").Wants(t, 0)
		p.set(func(p *proxy) { p.hold = func(method string) bool { return strings.HasPrefix(method, "PowerOn") } })
		if err := box.process.cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		select {
		case <-p.held:
		case <-time.After(time.Minute):
			t.Fatalf("nothing is taken back:\n%s", box.process.said())
		}
		if code := box.process.end(t, syscall.SIGINT, 30*time.Second); code == 0 {
			t.Errorf("it ended well:\n%s", box.process.said())
		}
		if got := s.power(inside); got != "poweredOff" {
			t.Errorf("%s is %s", inside, got)
		}
		if len(h.journals()) == 0 {
			t.Errorf("nobody knows what is left:\n%s", box.process.said())
		}
		h.secretFree(s)
		p.set(func(p *proxy) { p.hold = nil })
		h.Must("--name", "cut", "down")
		if got := s.power(inside); got != "poweredOn" {
			t.Errorf("after down %s is %s", inside, got)
		}
		h.nothingLeft()
	})
}

// After kill -9 the journal is there, and the next command for this sandbox reverts what is in it.
func TestKilled(t *testing.T) {
	everywhere(t, func(t *testing.T, s *standIn) {
		h := newHome(t)
		inside, outside := s.paths()
		conf := s.config(h)
		args := []string{"--vcenter-config", conf, "--folder", "k8s", "--allow-writes", "--write-folder", folder}
		box := h.foreground("killed", args...)
		box.run("vm", "power-off", name(inside), "--yes").Wants(t, 0)
		// Concurrent changes of other users stay.
		s.govc("vm.power", "-off", outside)
		box.process.end(t, syscall.SIGKILL, 10*time.Second)
		if !eventually(10*time.Second, func() bool { return len(h.Processes()) == 0 }) {
			t.Errorf("left running: %v", h.Processes())
		}
		if len(h.journals()) == 0 {
			t.Fatal("nobody knows what is left")
		}
		h.secretFree(s)
		// A read-only sandbox of that name does not start over it, and prints how to continue.
		h.Try("--name", "killed", "up", "--csi", "off", "--vcenter-config", conf, "--folder", "k8s").Wants(t, 1, "error: ", "down")
		if got := s.power(inside); got != "poweredOff" {
			t.Errorf("%s is %s", inside, got)
		}
		h.Must("--name", "killed", "down")
		if in, out := s.power(inside), s.power(outside); in != "poweredOn" || out != "poweredOff" {
			t.Errorf("after down %s is %s, %s is %s", inside, in, outside, out)
		}
		h.nothingLeft()
		// The journal is empty: another sandbox begins well, and ends without a write.
		s.govc("vm.power", "-off", inside)
		h.up("killed", args...)
		h.Must("--name", "killed", "down")
		if got := s.power(inside); got != "poweredOff" {
			t.Errorf("%s is %s", inside, got)
		}
		h.nothingLeft()
	})
}
