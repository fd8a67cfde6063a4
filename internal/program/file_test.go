package program

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/upstream/upstreamtest"
)

func TestFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, mode os.FileMode, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o755); err != nil {
		t.Fatal(err)
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		write("native", 0o755, native(t)),
		write("script", 0o700, []byte("#!/bin/sh\nexit 1\n")),
	} {
		p, err := resolve(t, options(t), path)
		if err != nil || p.Path != path || p.Source != path || !strings.HasPrefix(p.Digest, "sha256:") {
			t.Errorf("%s: %+v, %v", path, p, err)
		}
	}
	for _, tc := range []struct{ path, code, words string }{
		{filepath.Join(dir, "none"), "ccm-missing", "there is no such file"},
		{loop, "ccm-missing", "too many"},
		{dir, "ccm-not-executable", "is a directory"},
		{pipe, "ccm-not-executable", "is no regular file"},
		{write("plain", 0o644, native(t)), "ccm-not-executable", "is not executable"},
		{write("empty", 0o755, nil), "ccm-not-executable", "is empty"},
		{write("text", 0o755, []byte("hello, world")), "ccm-not-executable", "neither ELF nor Mach-O nor a script"},
		{write("cut", 0o755, native(t)[:30]), "ccm-not-executable", "cut short"},
		{write("mac", 0o755, program(t, "darwin", "arm64")), "ccm-wrong-platform", "is for darwin/arm64; this machine is linux/amd64"},
		{write("arm", 0o755, program(t, "linux", "arm64")), "ccm-wrong-platform", "is for linux/arm64; this machine is linux/amd64"},
	} {
		t.Run(filepath.Base(tc.path), func(t *testing.T) {
			_, err := resolve(t, options(t), tc.path)
			_ = upstreamtest.WantError(t, err, tc.code, tc.words, tc.path)
		})
	}
}

// The test's own program runs on this host.
func TestSelf(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if p, err := resolve(t, Options{Cache: t.TempDir()}, self); err != nil || p.Path != self {
		t.Errorf("%s/%s: %+v, %v", runtime.GOOS, runtime.GOARCH, p, err)
	}
}
