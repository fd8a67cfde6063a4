package instance_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
)

// claimsIn keeps the claims of a test apart, in a directory as XDG_RUNTIME_DIR is.
func claimsIn(t *testing.T) string {
	t.Helper()
	run := t.TempDir()
	if err := os.Chmod(run, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", run)
	return filepath.Join(run, "vsphere-sandbox")
}

func requireClaims(t *testing.T, dir string, want int) {
	t.Helper()
	if claims, _ := os.ReadDir(dir); len(claims) != want {
		t.Errorf("claims %v, want %d", claims, want)
	}
}

// A sandbox whose directory is removed under it notices that. Until it has ended it is found, and its name is taken; then
// nothing is left, and the name is free.
func TestDirectoryRemovedUnderASandbox(t *testing.T) {
	claims := claimsIn(t)
	root := t.TempDir()
	d := create(t, root, "demo")
	requireClaims(t, claims, 1)
	if err := os.WriteFile(d.Path("events.jsonl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	lost := make(chan bool, 1)
	go func() { lost <- d.AwaitRemoval(t.Context()) }()
	// It has seen what is in the directory.
	stop, cancel := context.WithCancel(t.Context())
	cancel()
	if d.AwaitRemoval(stop) {
		t.Fatal("it is lost before it is removed")
	}
	if err := os.RemoveAll(d.Path()); err != nil {
		t.Fatal(err)
	}
	entries, err := instance.List(root)
	if err != nil || len(entries) != 1 || !entries[0].Running || !entries[0].Removed || entries[0].PID != os.Getpid() || entries[0].Name != "demo" {
		t.Errorf("listed %+v, %v", entries, err)
	}
	if taken := (instance.ErrRunning{}); !errors.As(instance.CheckFree(root, "demo"), &taken) || !taken.Removed {
		t.Errorf("its name is taken by %+v", taken)
	}
	if other, err := instance.List(t.TempDir()); err != nil || len(other) != 0 {
		t.Errorf("another root lists %+v, %v", other, err)
	}
	found, err := instance.Open(root, "demo")
	if err != nil {
		t.Fatal(err)
	}
	if pid, running := found.Running(); !running || pid != os.Getpid() {
		t.Errorf("running %t, as %d", running, pid)
	}
	var running instance.ErrRunning
	if _, err := instance.Create(root, "demo"); !errors.As(err, &running) || !running.Removed || !strings.Contains(err.Error(), "its directory was removed") {
		t.Errorf("another of the name: %v", err)
	}
	requireEmpty(t, root)
	select {
	case yes := <-lost:
		if !yes {
			t.Error("it is not lost")
		}
	case <-time.After(30 * time.Second):
		t.Fatal("its owner has not noticed")
	}
	// What a child makes again after that goes, too.
	if err := os.MkdirAll(d.Path("logs", "node"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := d.Remove(); err != nil {
		t.Error(err)
	}
	requireEmpty(t, root)
	requireClaims(t, claims, 0)
	if err := create(t, root, "demo").Remove(); err != nil {
		t.Error(err)
	}
}

// What the sandbox has not made it does not remove, nor what has a lock of another's.
func TestLostDirectoryOfAnotherIsLeftAlone(t *testing.T) {
	for name, plant := range map[string]string{"files of the user's": "precious", "a sandbox's": "lock"} {
		t.Run(name, func(t *testing.T) {
			claimsIn(t)
			d := create(t, t.TempDir(), "demo")
			stop, cancel := context.WithCancel(t.Context())
			cancel()
			_ = d.AwaitRemoval(stop) // it sees what is there
			if err := errors.Join(os.RemoveAll(d.Path()), os.MkdirAll(d.Path("logs"), 0o700), os.WriteFile(d.Path(plant), nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			if err := d.Remove(); err != nil {
				t.Error(err)
			}
			for _, file := range []string{plant, "logs"} {
				if _, err := os.Stat(d.Path(file)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// One that is killed leaves a claim that says nothing; it goes with the rest. So it does where the directory was removed first.
func TestClaimOfAKilledSandbox(t *testing.T) {
	claims := claimsIn(t)
	for _, removed := range []bool{false, true} {
		root := t.TempDir()
		s := startSandbox(t, root)
		requireClaims(t, claims, 1)
		path := filepath.Join(root, "demo")
		aside := filepath.Join(t.TempDir(), "demo")
		if removed { // aside, so that its children can be ended by the test
			if err := os.Rename(path, aside); err != nil {
				t.Fatal(err)
			}
		}
		s.kill()
		if removed {
			if entries, err := instance.List(root); err != nil || len(entries) != 0 {
				t.Errorf("listed %+v, %v", entries, err)
			}
			if err := os.Rename(aside, path); err != nil {
				t.Fatal(err)
			}
		}
		if entries, err := instance.List(root); err != nil || len(entries) != 1 || entries[0].Running {
			t.Errorf("listed %+v, %v", entries, err)
		}
		if _, err := instance.Reap(t.Context(), root, "demo"); err != nil {
			t.Error(err)
		}
		s.requireGone()
		requireClaims(t, claims, 0)
		requireEmpty(t, root)
	}
}

// Commands that differ in XDG_RUNTIME_DIR find each other's sandboxes, and where there is no place for claims a sandbox goes
// without.
func TestPlacesOfClaims(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", "")
	root := t.TempDir()
	d := create(t, root, "demo")
	claimsIn(t)
	if err := os.RemoveAll(d.Path()); err != nil {
		t.Fatal(err)
	}
	if entries, err := instance.List(root); err != nil || len(entries) != 1 || !entries[0].Removed {
		t.Errorf("listed %+v, %v", entries, err)
	}
	if err := d.Remove(); err != nil {
		t.Error(err)
	}
	run := os.Getenv("XDG_RUNTIME_DIR")
	if err := os.WriteFile(filepath.Join(run, "vsphere-sandbox"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := create(t, root, "demo").Remove(); err != nil {
		t.Error(err)
	}
}

// Settle ends processes, and removes nothing.
func TestSettle(t *testing.T) {
	claims := claimsIn(t)
	root := t.TempDir()
	s := startSandbox(t, root)
	if _, err := instance.ReapProcesses(t.Context(), root, "demo"); !errors.As(err, new(instance.ErrRunning)) {
		t.Errorf("of one that runs: %v", err)
	}
	evidence := filepath.Join(root, "demo", "logs", "sandbox.log")
	if err := os.WriteFile(evidence, []byte("panic: boom\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.kill()
	for i, want := range []int{3, 0} {
		r, err := instance.ReapProcesses(t.Context(), root, "demo")
		if err != nil || len(r.Killed) < want || i > 0 && len(r.Killed) > 0 || r.Removed {
			t.Errorf("%+v, %v", r, err)
		}
	}
	s.requireGone()
	requireClaims(t, claims, 0)
	entries, err := instance.List(root)
	if err != nil || len(entries) != 1 || !entries[0].Record.ProcessesReaped || entries[0].Record.Topology != "single" || entries[0].Running {
		t.Errorf("listed %+v, %v", entries, err)
	}
	if text, err := os.ReadFile(evidence); err != nil || string(text) != "panic: boom\n" {
		t.Errorf("the log: %q, %v", text, err)
	}
	if _, err := instance.ReapProcesses(t.Context(), root, "none"); !errors.As(err, new(instance.ErrNotFound)) {
		t.Errorf("of none: %v", err)
	}
	next := create(t, root, "demo")
	if !next.Predecessor().Removed {
		t.Errorf("the next one found %+v", next.Predecessor())
	}
	if err := next.Remove(); err != nil {
		t.Error(err)
	}
}

// AwaitExit waits for the process itself, and for no other of its number.
func TestAwaitExit(t *testing.T) {
	cmd := exec.Command("sleep", "3600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := instance.Observe(cmd.Process.Pid)
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := instance.AwaitExit(soon, p); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("of a running one: %v", err)
	}
	other := p
	other.Start = "1"
	if err := instance.AwaitExit(t.Context(), other); err != nil {
		t.Errorf("of one whose number is another's by now: %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- instance.AwaitExit(t.Context(), p) }()
	_ = cmd.Process.Kill()
	if err := <-done; err != nil { // though its parent has not taken note
		t.Error(err)
	}
	_ = cmd.Wait()
	if err := instance.AwaitExit(t.Context(), p); err != nil {
		t.Errorf("of one that is gone: %v", err)
	}
	if err := instance.AwaitExit(t.Context(), instance.Process{}); err != nil {
		t.Errorf("of none: %v", err)
	}
}
