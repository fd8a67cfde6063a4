package instance_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
)

func TestShortPath(t *testing.T) {
	const suffix = "/plugins/kubelet.sock"
	root, temp := longRoot(t)
	d := create(t, root, "demo")
	path := d.Path("nodes", "worker-1")
	short, err := d.ShortPath(suffix, "nodes", "worker-1")
	if err != nil {
		t.Fatal(err)
	}
	if len(short)+len(suffix) > 103 || !strings.HasPrefix(short, temp) {
		t.Errorf("short path: %s", short)
	}
	if again, err := d.ShortPath(suffix, "nodes", "worker-1"); err != nil || again != short {
		t.Errorf("second time: %s, %v, want %s", again, err, short)
	}
	if other, err := d.ShortPath(suffix, "nodes", "worker-2"); err != nil || other == short {
		t.Errorf("other directory: %s, %v", other, err)
	}
	if err := os.MkdirAll(filepath.Join(path, "plugins"), 0o700); err != nil {
		t.Fatal(err)
	}
	listen(t, short+suffix)
	if _, err := os.Lstat(path + suffix); err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.ShortPath(suffix, "nodes", "worker-3"); !errors.Is(err, instance.ErrNotOwner) {
		t.Errorf("after close: %v", err)
	}
	if _, err := instance.Reap(t.Context(), root, "demo"); err != nil { // with longRoot's check that nothing is left
		t.Fatal(err)
	}
}

func TestShortPathOfAShortRoot(t *testing.T) {
	root, err := os.MkdirTemp("/tmp", "inst") // a path that is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	d := create(t, root, "demo")
	if short, err := d.ShortPath("/s", "nodes"); err != nil || short != d.Path("nodes") {
		t.Errorf("got %s, %v, want %s", short, err, d.Path("nodes"))
	}
}

// A short directory that is made for others' sockets does not take the control socket along.
func TestShortPathLeavesTheControlSocket(t *testing.T) {
	root, err := os.MkdirTemp("/tmp", "inst") // a path that is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	d := create(t, root, "demo")
	if short, err := d.ShortPath("/"+strings.Repeat("s", 90), "nodes"); err != nil || short == d.Path("nodes") {
		t.Fatalf("got %s, %v", short, err)
	}
	listen(t, d.SocketPath())
	found, err := instance.Open(root, "demo")
	if err != nil || found.SocketPath() != d.SocketPath() {
		t.Errorf("found %s, %v, want %s", found.SocketPath(), err, d.SocketPath())
	}
}

// With any TMPDIR, and macOS has a long one, there is room for the sockets of a kubelet.
func TestShortPathHasRoom(t *testing.T) {
	root, temp := longRoot(t)
	const suffix = "/plugins_registry/csi.vsphere.vmware.com-reg.sock"
	for i, length := range []int{0, 20, 40, 60} {
		deep := temp
		if length > 0 {
			deep = filepath.Join(temp, strings.Repeat("d", length))
			if err := os.Mkdir(deep, 0o700); err != nil {
				t.Fatal(err)
			}
			defer os.Remove(deep)
		}
		t.Setenv("TMPDIR", deep)
		d := create(t, root, strings.Repeat("x", i+1))
		short, err := d.ShortPath(suffix, "nodes", "worker-1", "kubelet")
		if err != nil || len(short)+len(suffix) > 103 {
			t.Errorf("TMPDIR of %d bytes: %s of %d bytes with its suffix, %v", len(deep), short, len(short)+len(suffix), err)
		}
		if err := d.Remove(); err != nil {
			t.Error(err)
		}
	}
}
