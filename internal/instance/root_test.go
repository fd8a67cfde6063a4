package instance_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
)

// longRoot returns a state root too long for sockets, and a short temporary
// directory that is empty, and must be in the end.
func longRoot(t *testing.T) (root, temp string) {
	t.Helper()
	temp, err := os.MkdirTemp("/tmp", "inst") // a path that is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		requireEmpty(t, temp)
		if err := os.RemoveAll(temp); err != nil {
			t.Error(err)
		}
	})
	root = filepath.Join(t.TempDir(), strings.Repeat("long", 25))
	t.Setenv("TMPDIR", temp)
	return root, temp
}

func TestLongRootHasAShortSocket(t *testing.T) {
	root, temp := longRoot(t)
	d := create(t, root, "demo")
	socket := d.SocketPath()
	if len(socket) > 103 || !strings.HasPrefix(socket, temp) {
		t.Errorf("socket path: %s", socket)
	}
	if info, err := os.Stat(filepath.Dir(socket)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("socket directory: %v, %v", info, err)
	}
	listen(t, socket)
	t.Setenv("TMPDIR", "/nonexistent") // another shell
	reader, err := instance.Open(root, "demo")
	if err != nil {
		t.Fatal(err)
	}
	if reader.SocketPath() != socket {
		t.Errorf("reader: %s, owner: %s", reader.SocketPath(), socket)
	}
	t.Setenv("TMPDIR", temp)
	if other := create(t, root, "other"); other.SocketPath() == socket {
		t.Error("two sandboxes with one socket")
	}
	// It dies, and is cleaned up.
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := instance.Reap(t.Context(), root, "demo"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Dir(socket)); err == nil {
		t.Error("socket directory has been left behind")
	}
}

func TestSocketDirectoryOfAnotherUser(t *testing.T) {
	root, _ := longRoot(t)
	d := create(t, root, "demo")
	dir := filepath.Dir(d.SocketPath())
	if err := d.Remove(); err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	tests := []struct {
		name string
		make func() error
	}{
		{"open to others", func() error { return os.Mkdir(dir, 0o755) }},
		{"symbolic link", func() error { return os.Symlink(elsewhere, dir) }},
		{"file", func() error { return os.WriteFile(dir, nil, 0o600) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.make(); err != nil {
				t.Fatal(err)
			}
			_, err := instance.Create(root, "demo")
			if err == nil || !strings.Contains(err.Error(), dir) {
				t.Errorf("got %v, want an error about %s", err, dir)
			}
			requireEmpty(t, root)
			if err := os.Remove(dir); err != nil {
				t.Error(err)
			}
		})
	}
	if err := os.Mkdir(dir, 0o700); err != nil { // ours, from a sandbox removed by hand
		t.Fatal(err)
	}
	listen(t, filepath.Join(dir, "control.sock"))
	listen(t, create(t, root, "demo").SocketPath())
}

// listen leaves the socket file, as a killed process would.
func listen(t *testing.T, path string) {
	t.Helper()
	socket, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	socket.(*net.UnixListener).SetUnlinkOnClose(false)
	socket.Close()
}
