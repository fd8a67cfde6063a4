package disk_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
)

const gib = 1 << 30

func create(t *testing.T, bytes int64) (dir string, d *disk.Disk) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "content", "disk-1")
	if err := disk.Create(dir, bytes); err != nil {
		t.Fatal(err)
	}
	d, err := disk.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, d
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// entries lists the names in a directory.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func TestLife(t *testing.T) {
	dir, d := create(t, gib)
	if err := disk.Create(dir, gib); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second disk in its place: %v", err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
	if info, err := os.Stat(filepath.Join(dir, "disk.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
	if _, is, err := d.FileSystem(); is || err != nil {
		t.Errorf("a new disk has a file system: %t %v", is, err)
	}
	if _, err := d.Grow(); err == nil {
		t.Error("no file system was grown")
	}
	want := disk.FileSystem{Type: "ext4", Bytes: gib}
	for range 2 {
		if f, err := d.Format("ext4"); f != want || err != nil {
			t.Errorf("%+v %v", f, err)
		}
	}
	if _, err := d.Format("xfs"); !errors.Is(err, disk.ErrFormatted) {
		t.Errorf("xfs over ext4: %v", err)
	}

	for _, bytes := range []int64{2 * gib, gib} { // it does not shrink
		if err := disk.Resize(dir, bytes); err != nil {
			t.Fatal(err)
		}
		if size, err := d.Size(); size != 2*gib || err != nil {
			t.Errorf("%d bytes %v", size, err)
		}
	}
	if f, _, _ := d.FileSystem(); f != want {
		t.Errorf("%+v before it was grown", f)
	}
	want.Bytes = 2 * gib
	if f, err := d.Grow(); f != want || err != nil {
		t.Errorf("%+v %v", f, err)
	}
	if f, is, err := d.FileSystem(); f != want || !is || err != nil {
		t.Errorf("%+v %t %v", f, is, err)
	}

	for range 2 {
		if err := disk.Remove(dir); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := disk.Open(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a removed disk: %v", err)
	}
	if left := entries(t, filepath.Dir(dir)); left != nil {
		t.Errorf("left: %v", left)
	}
}

func TestBlock(t *testing.T) {
	dir, d := create(t, gib)
	for _, size := range []int64{gib, 2 * gib} {
		if err := disk.Resize(dir, size); err != nil {
			t.Fatal(err)
		}
		path, err := d.Block()
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() != size {
			t.Errorf("%v %v, want %d bytes", info, err, size)
		}
	}
}

func TestUsage(t *testing.T) {
	_, d := create(t, gib)
	write(t, filepath.Join(d.Data(), "a"), "12345")
	if err := os.Mkdir(filepath.Join(d.Data(), "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(d.Data(), "sub", "b"), "678")
	u, err := d.Usage(t.Context())
	if want := (disk.Usage{Bytes: 8, Files: 4}); u != want || err != nil {
		t.Errorf("%+v %v, want %+v", u, err, want)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Usage(ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestCopy(t *testing.T) {
	from, d := create(t, gib)
	if _, err := d.Format("ext4"); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(d.Data(), "file"), "content")
	sub := filepath.Join(d.Data(), "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(sub, "inner"), "more")
	old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, err := range []error{
		os.Symlink("file", filepath.Join(d.Data(), "link")),
		syscall.Mkfifo(filepath.Join(d.Data(), "pipe"), 0o600),
		os.Chtimes(sub, old, old),
		os.Chmod(sub, 0o500),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(sub, 0o700) })
	block, err := d.Block()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(block, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("raw"), gib/2); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	to := filepath.Join(filepath.Dir(from), "disk-2")
	if err := disk.Copy(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	if err := disk.Copy(t.Context(), from, to); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a copy over a disk: %v", err)
	}
	if err := disk.Resize(from, 2*gib); err != nil { // does not affect the copy
		t.Fatal(err)
	}
	c, err := disk.Open(to)
	if err != nil {
		t.Fatal(err)
	}
	if size, err := c.Size(); size != gib || err != nil {
		t.Errorf("%d bytes %v", size, err)
	}
	if f, is, err := c.FileSystem(); f.Type != "ext4" || !is || err != nil {
		t.Errorf("%+v %t %v", f, is, err)
	}
	if diff := cmp.Diff([]string{"file", "link", "sub"}, entries(t, c.Data())); diff != "" {
		t.Error(diff)
	}
	if b, err := os.ReadFile(filepath.Join(c.Data(), "sub", "inner")); string(b) != "more" || err != nil {
		t.Errorf("%q %v", b, err)
	}
	if info, err := os.Stat(filepath.Join(c.Data(), "sub")); err != nil || info.Mode().Perm() != 0o500 || !info.ModTime().Equal(old) {
		t.Errorf("%v %v", info, err)
	}
	raw := make([]byte, 3)
	copied, err := os.Open(filepath.Join(to, "block"))
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	if _, err := copied.ReadAt(raw, gib/2); string(raw) != "raw" || err != nil {
		t.Errorf("%q %v", raw, err)
	}
	if info, _ := copied.Stat(); info.Size() != gib || info.Sys().(*syscall.Stat_t).Blocks > 1<<14 {
		t.Errorf("%d bytes in %d blocks: its holes were filled", info.Size(), info.Sys().(*syscall.Stat_t).Blocks)
	}
	if err := disk.Remove(to); err != nil { // with its read-only directory
		t.Error(err)
	}
}

// A canceled copy leaves no disk; leftovers of a killed process do no harm.
func TestHalfWritten(t *testing.T) {
	from, d := create(t, gib)
	write(t, filepath.Join(d.Data(), "file"), "content")
	to := filepath.Join(filepath.Dir(from), "disk-2")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := disk.Copy(ended, from, to); !errors.Is(err, context.Canceled) {
		t.Errorf("broken off: %v", err)
	}
	if err := disk.Copy(t.Context(), to, to+"3"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of no disk: %v", err)
	}
	if diff := cmp.Diff([]string{"disk-1"}, entries(t, filepath.Dir(from))); diff != "" {
		t.Error(diff)
	}

	for _, left := range []string{to + ".new", to + ".gone"} {
		if err := os.MkdirAll(filepath.Join(left, "data", "half"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := disk.Open(to); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("half of a disk: %v", err)
	}
	if err := disk.Copy(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"file"}, entries(t, filepath.Join(to, "data"))); diff != "" {
		t.Error(diff)
	}
	if err := disk.Remove(to); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"disk-1"}, entries(t, filepath.Dir(from))); diff != "" {
		t.Error(diff)
	}
}

func TestNotADisk(t *testing.T) {
	for _, bytes := range []int64{0, -1} {
		if err := disk.Create(filepath.Join(t.TempDir(), "d"), bytes); err == nil {
			t.Errorf("a disk of %d bytes", bytes)
		}
	}
	dir, d := create(t, gib)
	write(t, filepath.Join(dir, "fs.json"), "{")
	if _, _, err := d.FileSystem(); err == nil {
		t.Error("nonsense was read as a file system")
	}
	if _, err := d.Format("ext4"); err == nil {
		t.Error("nonsense was formatted over")
	}
	write(t, filepath.Join(dir, "disk.json"), "")
	if _, err := disk.Open(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A reader never sees a partly written size or file system.
func TestReadWhileWritten(t *testing.T) {
	dir, d := create(t, gib)
	if _, err := d.Format("ext4"); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if size, err := d.Size(); size < gib || err != nil {
					t.Errorf("%d bytes %v", size, err)
					return
				}
				if f, is, err := d.FileSystem(); f.Bytes < gib || !is || err != nil {
					t.Errorf("%+v %t %v", f, is, err)
					return
				}
			}
		})
	}
	for i := range int64(200) {
		if err := disk.Resize(dir, gib+i); err != nil {
			t.Error(err)
		}
		if _, err := d.Grow(); err != nil {
			t.Error(err)
		}
	}
	close(done)
	wg.Wait()
}

// As root, Copy keeps the owners: a database refuses to start with files of another owner.
func TestCopyKeepsOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("nobody but root gives files away")
		return
	}
	from, d := create(t, gib)
	write(t, filepath.Join(d.Data(), "file"), "content")
	const uid = 999
	for path, mode := range map[string]os.FileMode{d.Data(): 0o700, filepath.Join(d.Data(), "file"): 0o755 | os.ModeSetuid} {
		if err := errors.Join(os.Chown(path, uid, uid), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
	to := from + "-copy"
	if err := disk.Copy(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"data", "data/file"} {
		was, err := os.Stat(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		is, err := os.Stat(filepath.Join(to, name))
		if err != nil {
			t.Fatal(err)
		}
		if of := is.Sys().(*syscall.Stat_t); of.Uid != uid || of.Gid != uid || is.Mode() != was.Mode() {
			t.Errorf("%s belongs to %d:%d and is %v, not %v", name, of.Uid, of.Gid, is.Mode(), was.Mode())
		}
	}
}
