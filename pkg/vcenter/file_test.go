package vcenter

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Paths in a vsphere.conf are relative to it, not to where the program runs.
func TestPathsAreRelativeToTheFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "conf", "vsphere.conf")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	text := "global: {secretsDirectory: ../secrets}\nvcenter:\n  a: {server: a.example.com, user: u, password: p, caFile: ca.pem, datacenters: [dc]}\n" +
		"  b: {server: b.example.com, caFile: /etc/ca.pem, datacenters: [dc]}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, name := range []string{file, "conf/vsphere.conf"} {
		c, err := LoadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{c.VCenters[0].CAFile, c.VCenters[1].CAFile, c.VCenters[1].SecretsDirectory}
		want := []string{filepath.Join(dir, "conf", "ca.pem"), "/etc/ca.pem", filepath.Join(dir, "secrets")}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}
}

func TestNoConfigAtAll(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"/dev/zero": "is longer than the 1 MiB a cloud config may have", pipe: "is a pipe that nothing is written to", t.TempDir(): "is a directory",
	} {
		if _, err := LoadFile(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
}
