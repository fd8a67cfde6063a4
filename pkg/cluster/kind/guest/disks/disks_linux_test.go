package disks_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/guest/disks"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/guest/loop"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

const mib = 1 << 20

// room has a folder for volumes and two guests' by-id folders.
type room struct {
	t   *testing.T
	dir string
}

func (r room) volume(id string) string { return filepath.Join(r.dir, "volumes", id) }
func (r room) guest(name string) string {
	return filepath.Join(r.dir, name)
}

func (r room) create(id string) node.Disk {
	r.t.Helper()
	r.ok(disk.Create(r.volume(id), 8*mib))
	return node.Disk{UUID: "6000C290-0000-4000-8000-000000000001", VolumeID: id, Bytes: 8 * mib}
}

func (r room) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r room) path(guest string, d node.Disk) string {
	return filepath.Join(r.guest(guest), names.DeviceLink(d.UUID))
}

// has returns the size of the disk in a guest; 0 for none.
func (r room) has(guest string, d node.Disk) int64 {
	r.t.Helper()
	f, err := os.Open(r.path(guest, d))
	if os.IsNotExist(err) {
		return 0
	}
	r.ok(err)
	defer f.Close()
	n, err := f.Seek(0, 2)
	r.ok(err)
	return n
}

func newRoom(t *testing.T) (room, *disks.Loops) {
	t.Helper()
	r := room{t, t.TempDir()}
	l := &disks.Loops{Dir: r.volume, Patience: 50 * time.Millisecond}
	if err := l.Supported(r.guest("a")); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if ended, pinned, err := loop.Reap(context.Background(), r.dir, time.Second); ended+pinned > 0 || err != nil {
			t.Errorf("left behind: %d devices, %d in use: %v", ended, pinned, err)
		}
	})
	return r, l
}

// A volume is on one guest at a time, and keeps what was written.
func TestLoops(t *testing.T) {
	r, l := newRoom(t)
	ctx := t.Context()
	d := r.create("v")
	for range 2 {
		r.ok(l.Plug(ctx, r.guest("a"), d))
	}
	if n := r.has("a", d); n != 8*mib {
		t.Errorf("%d bytes", n)
	}
	r.ok(os.WriteFile(r.path("a", d), []byte("data"), 0))
	r.ok(disk.Resize(r.volume("v"), 16*mib))
	r.ok(l.Resize(ctx, d))
	if n := r.has("a", d); n != 16*mib {
		t.Errorf("%d bytes after it has grown", n)
	}
	r.ok(l.Flush(ctx, d))
	r.ok(l.Plug(ctx, r.guest("b"), d)) // takes it off the other
	if r.has("a", d) != 0 || r.has("b", d) != 16*mib {
		t.Errorf("a sees %d, b %d", r.has("a", d), r.has("b", d))
	}
	r.ok(l.Unplug(ctx, r.guest("a"), d)) // late: b has it
	b := make([]byte, 4)
	f, err := os.Open(r.path("b", d))
	r.ok(err)
	_, err = f.Read(b)
	f.Close()
	if string(b) != "data" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	for range 2 {
		r.ok(l.Unplug(ctx, r.guest("b"), d))
	}
	if n := r.has("b", d); n != 0 {
		t.Errorf("it is still there: %d bytes", n)
	}
	r.ok(l.Resize(ctx, d))
	none := &disks.Loops{Dir: func(string) string { return "" }} // contents are not kept
	r.ok(none.Plug(ctx, r.guest("a"), d))
	if n := r.has("a", d); n != 0 {
		t.Errorf("a disk without content has %d bytes", n)
	}
}

// A disk in use is unplugged nevertheless and reported; what a killed sandbox left is taken over.
func TestLoopsHeld(t *testing.T) {
	r, l := newRoom(t)
	ctx := t.Context()
	d := r.create("v")
	pulled := 0
	l.Pulled = func(node.Disk) { pulled++ }
	r.ok(l.Plug(ctx, r.guest("a"), d))
	f, err := os.OpenFile(r.path("a", d), os.O_RDWR, 0)
	r.ok(err)
	r.ok(l.Plug(ctx, r.guest("b"), d))
	if pulled != 1 || r.has("b", d) != 8*mib {
		t.Errorf("%d pulled out, b sees %d", pulled, r.has("b", d))
	}
	r.ok(f.Close())
	next := &disks.Loops{Dir: r.volume}
	r.ok(next.Plug(ctx, r.guest("b"), d))
	if of, err := loop.ByFile(filepath.Join(r.volume("v"), "block")); err != nil || len(of) != 1 {
		t.Errorf("devices %v, %v", of, err)
	}
	r.ok(next.Unplug(ctx, r.guest("b"), d))
	if err := next.Plug(ctx, r.guest("b"), node.Disk{UUID: d.UUID, VolumeID: "none"}); err == nil {
		t.Error("a volume that is not there was plugged")
	}
}

func TestLinks(t *testing.T) {
	r := room{t, t.TempDir()}
	l := &disks.Links{Dir: r.volume, Inside: func(dir string) string { return "/inside" + dir }}
	d := r.create("v")
	for range 2 {
		r.ok(l.Plug(t.Context(), r.guest("a"), d))
	}
	if to, err := os.Readlink(r.path("a", d)); to != "/inside"+r.volume("v") || err != nil {
		t.Errorf("leads to %q, %v", to, err)
	}
	for range 2 {
		r.ok(l.Unplug(t.Context(), r.guest("a"), d))
	}
	if _, err := os.Lstat(r.path("a", d)); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

// What pods have written belongs to others: root does with it what this process may not.
func TestAsRoot(t *testing.T) {
	r := room{t, t.TempDir()}
	var asked []string
	l := &disks.Links{Dir: r.volume, AsRoot: func(ctx context.Context, dir, script string, args ...string) error {
		asked = append(asked, dir)
		return exec.CommandContext(ctx, "sh", append([]string{"-c", script, "sh"}, args...)...).Run()
	}}
	ctx := t.Context()
	r.create("v")
	file := filepath.Join("data", "file")
	r.ok(os.WriteFile(filepath.Join(r.volume("v"), file), []byte("content"), 0o600))
	r.ok(os.MkdirAll(r.volume("copy")+".new", 0o700)) // left by one that was killed
	r.ok(l.Copy(ctx, r.volume("v"), r.volume("copy")))
	if text, err := os.ReadFile(filepath.Join(r.volume("copy"), file)); string(text) != "content" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if err := l.Copy(ctx, r.volume("v"), r.volume("copy")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a copy over a disk: %v", err)
	}
	if err := l.Copy(ctx, r.volume("none"), r.volume("other")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a copy of nothing: %v", err)
	}
	r.ok(l.Remove(ctx, r.volume("copy")))
	if left, err := os.ReadDir(filepath.Join(r.dir, "volumes")); len(left) != 1 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
	if want := []string{filepath.Join(r.dir, "volumes")}; !slices.Equal(asked, want) {
		t.Errorf("root was asked in %q, want %q: what this process can remove it does", asked, want)
	}
}
