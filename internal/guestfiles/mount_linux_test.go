package guestfiles

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFill: the links are there, also below directories that the host has, and everything else is the host's.
func TestFill(t *testing.T) {
	host, dir, target := t.TempDir(), t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(host, "passwd"), "root")
	write(filepath.Join(host, "hosts"), "127.0.0.1 localhost\n")
	write(filepath.Join(host, "kubernetes", "kubelet.conf"), "kubelet")
	write(filepath.Join(host, "kubernetes", "guestclusters", "cluster", "old"), "old")
	write(filepath.Join(target, "token"), "secret")
	f := Files{
		Host: host, Hosts: []string{"127.0.0.9 supervisor.default.svc"},
		Links: map[string]string{"cloud/ccm-provider": target, "kubernetes/guestclusters/cluster": target},
	}
	if err := f.fill(dir); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"passwd": "root", "kubernetes/kubelet.conf": "kubelet", "cloud/ccm-provider/token": "secret", "kubernetes/guestclusters/cluster/token": "secret",
		"hosts": "127.0.0.9 supervisor.default.svc\n127.0.0.1 localhost\n",
	} {
		got, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", path, got, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "kubernetes/guestclusters/cluster/old")); err == nil {
		t.Error("the host's directory is behind a link")
	}
	if text, err := os.ReadFile(filepath.Join(host, "hosts")); err != nil || strings.Contains(string(text), "supervisor") {
		t.Errorf("the host's file has changed: %q, %v", text, err)
	}
}
