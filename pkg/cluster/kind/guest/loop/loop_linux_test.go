package loop_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/guest/loop"
)

const mib = 1 << 20

// patience is more than any test needs.
const patience = 30 * time.Second

// disk makes a sparse file in a folder and skips the test where it cannot be a device. What a test leaves is ended, and is an
// error.
func disk(t *testing.T, folder string, bytes int64) string {
	t.Helper()
	if err := loop.Probe(folder); err != nil {
		t.Skip(err)
	}
	file := filepath.Join(folder, "disk")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, bytes)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ended, pinned, err := loop.Reap(context.Background(), folder, patience) // the test's has ended
		if ended+pinned > 0 || err != nil {
			t.Errorf("left behind: %d devices, and %d in use: %v", ended, pinned, err)
		}
	})
	return file
}

func attach(t *testing.T, file string, readOnly bool) (d loop.Device, node string) {
	t.Helper()
	d, err := loop.Attach(file, readOnly)
	if err != nil {
		t.Fatal(err)
	}
	node = filepath.Join(filepath.Dir(file), "wwn-0x1")
	if err := d.CreateNode(node); err != nil {
		t.Fatal(err)
	}
	return d, node
}

// size is what a seek to the end of the device says.
func size(t *testing.T, node string) int64 {
	t.Helper()
	f, err := os.Open(node)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n, err := f.Seek(0, 2)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func detach(t *testing.T, d loop.Device) {
	t.Helper()
	if pinned, err := d.Detach(t.Context(), patience); pinned || err != nil {
		t.Errorf("detach: pinned %v, %v", pinned, err)
	}
}

// What is written to a device is what the next one of the file has.
func TestLife(t *testing.T) {
	file := disk(t, t.TempDir(), 8*mib)
	for turn := range 2 {
		d, node := attach(t, file, false)
		if n := size(t, node); n != 8*mib {
			t.Errorf("%d bytes", n)
		}
		if of, err := loop.ByFile(file); err != nil || len(of) != 1 || of[0] != d {
			t.Errorf("of the file: %v, %v, want %v", of, err, d)
		}
		f, err := os.OpenFile(node, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 4)
		if _, err := f.ReadAt(b, mib); err != nil || turn == 1 && string(b) != "data" {
			t.Errorf("turn %d: %q, %v", turn, b, err)
		}
		_, err = f.WriteAt([]byte("data"), mib)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		detach(t, d)
		detach(t, d) // again is harmless
		if of, err := loop.ByFile(file); err != nil || len(of) != 0 {
			t.Errorf("of the file: %v, %v", of, err)
		}
	}
}

func TestReadOnly(t *testing.T) {
	file := disk(t, t.TempDir(), mib)
	d, node := attach(t, file, true)
	defer detach(t, d)
	if f, err := os.OpenFile(node, os.O_RDWR, 0); err == nil {
		if _, err = f.WriteAt([]byte{1}, 0); err == nil {
			err = f.Sync()
		}
		f.Close()
		if err == nil {
			t.Error("written to a read-only device")
		}
	}
	if n := size(t, node); n != mib {
		t.Errorf("%d bytes", n)
	}
}

func TestResize(t *testing.T) {
	file := disk(t, t.TempDir(), 8*mib)
	d, node := attach(t, file, false)
	defer detach(t, d)
	if err := errors.Join(os.Truncate(file, 16*mib), d.Resize()); err != nil {
		t.Fatal(err)
	}
	if n := size(t, node); n != 16*mib {
		t.Errorf("%d bytes", n)
	}
}

// A device that another process has open is severed: nothing reaches the file any more, and it ends with the last close.
func TestPinned(t *testing.T) {
	file := disk(t, t.TempDir(), 8*mib)
	d, node := attach(t, file, false)
	f, err := os.OpenFile(node, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte("before"), mib); err != nil {
		t.Fatal(err)
	}
	if pinned, err := d.Detach(t.Context(), time.Millisecond); !pinned || err != nil {
		t.Fatalf("pinned %v, %v", pinned, err)
	}
	_, err = f.WriteAt([]byte("behind"), mib)
	if err = errors.Join(err, f.Sync()); err == nil {
		t.Error("written to a device that was pulled out")
	}
	again, other := attach(t, file, false) // on another node, so to speak
	defer detach(t, again)
	b, err := os.ReadFile(other)
	if err != nil || !bytes.HasPrefix(b[mib:], []byte("before")) {
		t.Errorf("%q, %v", b[mib:mib+6], err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	requireOnly(t, file, again)
}

// requireOnly waits until the file has that device only.
func requireOnly(t *testing.T, file string, want loop.Device) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience); ; {
		of, err := loop.ByFile(file)
		if err == nil && len(of) == 1 && of[0] == want {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("devices %v, %v, want %v", of, err, want)
		}
	}
}

// A kubelet makes a loop device of a raw volume, which its container's end leaves.
func TestDeviceOfADevice(t *testing.T) {
	file := disk(t, t.TempDir(), 8*mib)
	d, node := attach(t, file, false)
	upper, err := loop.Attach(node, false)
	if err != nil {
		t.Fatal(err)
	}
	detach(t, d)
	all, err := loop.List()
	for _, b := range all {
		if b.Device == d || b.Device == upper {
			t.Errorf("%v is still there", b)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// What was left by a process that was killed is found by its file, also when that is gone, and nothing else is touched.
func TestReap(t *testing.T) {
	ours, others := t.TempDir(), t.TempDir()
	mine, theirs := disk(t, ours, mib), disk(t, others, mib)
	attach(t, mine, false)
	gone := filepath.Join(ours, "gone")
	if err := errors.Join(os.Mkdir(gone, 0o700), os.Rename(mine, filepath.Join(gone, "disk"))); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(gone); err != nil {
		t.Fatal(err)
	}
	file := disk(t, ours, mib)
	attach(t, file, false)
	d, _ := attach(t, theirs, false)
	defer detach(t, d)
	if ended, pinned, err := loop.Reap(t.Context(), ours, patience); ended != 2 || pinned != 0 || err != nil {
		t.Errorf("ended %d, pinned %d, %v", ended, pinned, err)
	}
	if of, err := loop.ByFile(theirs); err != nil || len(of) != 1 {
		t.Errorf("others' devices: %v, %v", of, err)
	}
	if ended, _, err := loop.Reap(t.Context(), filepath.Join(ours, "nowhere"), 0); ended != 0 || err != nil {
		t.Errorf("of a folder that is not there: %d, %v", ended, err)
	}
}

func TestBad(t *testing.T) {
	dir := t.TempDir()
	disk(t, dir, mib)
	if _, err := loop.Attach(filepath.Join(dir, "none"), false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such file: %v", err)
	}
	if err := loop.Probe(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("probe of no folder: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".probe-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("a probe has left %v, %v", left, err)
	}
}

// On a file system without device files the error has the reason.
func TestProbeNodev(t *testing.T) {
	dir := t.TempDir()
	disk(t, dir, mib)
	at := filepath.Join(dir, "nodev")
	if err := os.Mkdir(at, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("none", at, "tmpfs", unix.MS_NODEV, ""); err != nil {
		t.Skip("mount: ", err)
	}
	defer unix.Unmount(at, 0)
	if err := loop.Probe(at); err == nil || !bytes.Contains([]byte(err.Error()), []byte("nodev")) {
		t.Errorf("probe: %v", err)
	}
}
