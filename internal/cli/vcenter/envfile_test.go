package vcenter

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

func TestEnvFileIsItsOwners(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "env")
	if err := os.WriteFile(path, []byte("of yesterday, and longer"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writeEnv(t.Context(), path, "export A=1\n"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "export A=1\n" {
		t.Errorf("%q, %v", b, err)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
}

func TestEnvFileThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		filepath.Join(dir, "none", "env"): "--env: " + dir + "/none/env: no such file or directory",
		dir:                               "--env: " + dir + ": is a directory",
	} {
		err := writeEnv(t.Context(), path, "x")
		if r := report.Of(err); r.Message != want || r.Exit != report.Prerequisite || !strings.Contains(r.Try, "--env -") {
			t.Errorf("%s: %+v, want %q", path, r, want)
		}
	}
}

func TestEnvPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if err := writeEnv(ctx, path, "nobody reads\n"); err != nil {
		t.Errorf("told to end: %v", err)
	}
	read := make(chan string)
	go func() {
		b, _ := os.ReadFile(path)
		read <- string(b)
	}()
	if err := writeEnv(t.Context(), path, "export A=1\n"); err != nil {
		t.Error(err)
	}
	if got := <-read; got != "export A=1\n" {
		t.Errorf("read %q", got)
	}
}
