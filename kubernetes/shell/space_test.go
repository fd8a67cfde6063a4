package shell

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A volume has room for its size, and no more: the error is that of a full disk, and what is removed is free again.
func TestSpace(t *testing.T) {
	c := newContainer(t)
	const total = 256 << 20
	volume := t.TempDir()
	c.files = NewFS([]Mount{
		{Path: "/", Base: filepath.Join(c.host, "root")},
		{Path: "/data", Base: volume, Bounded: true, Usage: func() (device string, size, used int64, err error) {
			err = filepath.WalkDir(volume, func(_ string, e fs.DirEntry, err error) error {
				if info, ierr := e.Info(); err == nil && ierr == nil && !e.IsDir() {
					used += info.Size()
				}
				return err
			})
			return "/dev/sdb", total, used, err
		}},
	})
	for _, step := range []struct{ script, out, errs string }{
		{"dd if=/dev/zero of=/data/zeros bs=1M; stat -c %s /data/zeros", "268435456\n", "dd: /data/zeros: No space left on device"},
		{"df /data | tail -1 | grep -o 100%", "100%\n", ""},
		{"echo more > /data/more || echo no", "no\n", "No space left on device"},
		{"rm /data/zeros; echo more > /data/more; cat /data/more", "more\n", ""},
		{"dd if=/dev/zero of=/data/more bs=1 count=3 conv=notrunc status=none; stat -c %s /data/more", "5\n", ""},
	} {
		_, out, errs := c.within(time.Minute, &Program{Args: []string{"bash", "-c", step.script}})
		if out != step.out || !strings.Contains(errs, step.errs) {
			t.Errorf("%s\n%q, want %q; %q, want %q", step.script, out, step.out, errs, step.errs)
		}
	}
	// Zeros take no room on this machine.
	if _, _, errs := c.run("dd if=/dev/zero of=/data/zeros bs=1M count=200 status=none"); errs != "" {
		t.Error(errs)
	}
	if info, err := os.Stat(filepath.Join(volume, "zeros")); err != nil || info.Size() != 200<<20 || blocks(info) > 1<<20 {
		t.Errorf("%v: a file of %d bytes takes %d", err, info.Size(), blocks(info))
	}
}

// blocks returns how many bytes of the disk a file takes.
func blocks(info fs.FileInfo) int64 { return info.Sys().(*syscall.Stat_t).Blocks * 512 }
