package program_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/programs"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/sidecars"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

func TestFinish(t *testing.T) {
	r := program.Finish(t, exec.Command("sh", "-c", "echo out; echo said >&2; exit 3"), time.Minute)
	if r != (program.Result{Out: "out\n", Err: "said\n", Code: 3}) || r.Both() != "out\nsaid\n" {
		t.Errorf("%+v", r)
	}
	r = program.Finish(t, exec.Command("sh", "-c", "kill -9 $$"), time.Minute)
	if r.Code != -1 {
		t.Errorf("%+v, killed", r)
	}
}

// The copy runs, is beside its other programs, and is removed on request.
func TestCopyForAll(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"vsphere-sandbox": "#!/bin/sh\necho ran\n", sidecars.Program: "sidecars", programs.Name: "kubernetes"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	copied, remove, err := program.CopyForAll(filepath.Join(dir, "vsphere-sandbox"))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(copied).Output(); err != nil || string(out) != "ran\n" {
		t.Errorf("%q, %v", out, err)
	}
	for name, want := range map[string]string{sidecars.Program: "sidecars", programs.Name: "kubernetes"} {
		if text, err := os.ReadFile(filepath.Join(filepath.Dir(copied), name)); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if err := remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(copied)); !os.IsNotExist(err) {
		t.Errorf("the folder: %v", err)
	}
	if _, _, err := program.CopyForAll(filepath.Join(dir, "none")); err == nil {
		t.Error("what is not there was copied")
	}
}

func TestFind(t *testing.T) {
	root, err := program.Root()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "cmd", "vsphere-sandbox")); err != nil {
		t.Error(err)
	}
	t.Setenv("VSPHERE_SANDBOX_BIN", filepath.Join(t.TempDir(), "none"))
	if path, err := program.Find(); err == nil || !strings.Contains(err.Error(), "make build") {
		t.Errorf("%q, %v", path, err)
	}
	own := filepath.Join(t.TempDir(), "own")
	if err := os.WriteFile(own, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("VSPHERE_SANDBOX_BIN", own)
	if path, err := program.Find(); err != nil || path != own {
		t.Errorf("%q, %v", path, err)
	}
}

// Files belong to the user that runs the program; a process with the home's environment is found and reported.
func TestHome(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nif [ \"$1\" = rest ]; then exec sleep 60; fi\necho \"$MINE $HOME\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	h := program.NewHome(t, program.Options{Binary: script, Env: []string{"MINE=yes"}})
	if got := h.Must("say"); got != "yes "+h.Tmp+"\n" {
		t.Errorf("%q", got)
	}
	if info, err := os.Stat(h.File("a", "text")); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	c := h.Cmd("rest")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); len(h.Processes()) == 0; { // it is another program's until it has been executed
		if time.Since(begin) > time.Minute {
			t.Fatal("it is not found")
		}
		time.Sleep(time.Millisecond)
	}
	if _, found := h.Processes()[c.Process.Pid]; !found {
		t.Errorf("%v, without %d", h.Processes(), c.Process.Pid)
	}
	if err := c.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = c.Wait() // killed
	h.NothingLeft(h.State, h.Tmp)
}
