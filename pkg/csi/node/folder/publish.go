package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"k8s.io/mount-utils"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Publish is as in node.Backend.
func (b *Backend) Publish(_ context.Context, p node.Publish) error {
	s, ok := b.staged(p.Staging)
	switch {
	case !ok || s.Volume != p.Volume:
		return fmt.Errorf("not staged at %s: %w", p.Staging, volume.ErrState)
	case s.Block != p.Use.Block || s.FSType != p.Use.FSType:
		return fmt.Errorf("staged as %s: %w", s.kind(), volume.ErrState)
	}
	want := published{Volume: p.Volume, Dir: s.Dir, Block: s.Block, ReadOnly: p.ReadOnly, Alone: p.Alone}
	if is, ok := b.published(p.Path); ok {
		if is != want {
			return fmt.Errorf("%s: volume %s is published there in another way: %w", p.Path, is.Volume, volume.ErrExists)
		}
		// It may have been written down by a service that was killed before it was done.
		if mounted, err := b.opts.Mounter.Mounted(p.Path); err != nil || mounted {
			return err
		}
	} else if other, is := b.elsewhere(p); is {
		return fmt.Errorf("published at %s already, to one user only: %w", other, volume.ErrInUse)
	}
	d, err := disk.Open(s.Dir)
	if err != nil {
		return fmt.Errorf("disk is not attached to node any more: %w: %w", err, volume.ErrNotFound)
	}
	source := d.Data()
	if s.Block {
		if source, err = d.Block(); err != nil {
			return err
		}
	}
	if err := b.change(func(t *table) { t.Published[p.Path] = want }); err != nil {
		return err
	}
	return b.opts.Mounter.Mount(source, p.Path, p.ReadOnly)
}

// elsewhere finds another path that a volume for one user only is published at.
func (b *Backend) elsewhere(p node.Publish) (path string, is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for path, o := range b.table.Published {
		if o.Volume != p.Volume || path == p.Path || !o.Alone && !p.Alone {
			continue
		}
		// A machine that lost power has lost its mounts, and nobody unpublishes what is not there.
		if mounted, err := b.opts.Mounter.Mounted(path); mounted || err != nil {
			return path, true
		}
	}
	return "", false
}

// Unpublish is as in node.Backend. What another volume has there stays.
func (b *Backend) Unpublish(_ context.Context, vol, path string) error {
	is, ok := b.published(path)
	if ok && is.Volume != vol {
		return nil
	}
	if err := b.opts.Mounter.Unmount(path); err != nil {
		return err
	}
	if !ok {
		return nil
	}
	return b.change(func(t *table) { delete(t.Published, path) })
}

// CanBind tells whether this process may make bind mounts, as far as that can be known before one is tried.
func CanBind() bool { return runtime.GOOS == "linux" && os.Geteuid() == 0 }

// Binds mounts by bind mounts, which takes privilege: see [CanBind]. Make it with [NewBinds].
type Binds struct{ mount mount.Interface }

var _ Mounter = Binds{}

// NewBinds returns a mounter.
func NewBinds() Binds { return Binds{mount.New("")} }

// Mount is as in [Mounter].
func (b Binds) Mount(source, target string, readOnly bool) error {
	if err := makeTarget(source, target); err != nil {
		return err
	}
	options := []string{"bind"}
	if readOnly {
		options = append(options, "ro")
	}
	return b.mount.Mount(source, target, "", options)
}

// makeTarget makes what source can be mounted on: a directory, or a file for a file.
func makeTarget(source, target string) error {
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.MkdirAll(target, 0o750)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o750); err != nil {
		return err
	}
	f, err := os.OpenFile(target, os.O_CREATE|os.O_RDONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// Mounted is as in [Mounter].
func (b Binds) Mounted(target string) (bool, error) {
	is, err := b.mount.IsMountPoint(target)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return is, err
}

// Unmount is as in [Mounter].
func (b Binds) Unmount(target string) error {
	for {
		is, err := b.Mounted(target)
		if err != nil {
			return err
		}
		if !is {
			break
		}
		if err := b.mount.Unmount(target); err != nil {
			return err
		}
	}
	return Links{}.Unmount(target) // what is left is a directory or a file that was mounted on
}

// Links mounts by symbolic links, which needs no privilege. Whether a mount is read-only a link cannot tell.
type Links struct{}

var _ Mounter = Links{}

// Mount is as in [Mounter]. The link replaces what is there in one step.
func (Links) Mount(source, target string, _ bool) error {
	info, err := os.Lstat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.Mode().Type() == fs.ModeSymlink || info.Mode().IsRegular() && info.Size() == 0:
	case info.IsDir():
		if err := os.Remove(target); err != nil { // not when it is not empty
			return err
		}
	default:
		return fmt.Errorf("%s: is there already, and no empty directory", target)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o750); err != nil {
		return err
	}
	next := target + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(source, next); err != nil {
		return err
	}
	return os.Rename(next, target)
}

// Mounted is as in [Mounter].
func (Links) Mounted(target string) (bool, error) {
	info, err := os.Lstat(target)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && info.Mode().Type() == fs.ModeSymlink, err
}

// Unmount is as in [Mounter]. A directory that has something in it was not made here, and is an error.
func (Links) Unmount(target string) error {
	if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Stage is as in node.Backend. A disk that was restored to a larger one than it comes from gets its file system grown.
func (b *Backend) Stage(ctx context.Context, s node.Stage) error {
	if s.Use.Block && b.opts.NoBlock != "" {
		return fmt.Errorf("raw block volume: %s: %w", b.opts.NoBlock, volume.ErrNotSupported)
	}
	dir, err := b.opts.Disks.Find(ctx, s.Volume, s.Disk)
	if err != nil {
		return err
	}
	want := staged{Volume: s.Volume, Dir: dir, Block: s.Use.Block, FSType: s.Use.FSType}
	if is, ok := b.staged(s.Path); ok {
		if is != want {
			return fmt.Errorf("%s: volume %s is staged there as %s: %w", s.Path, is.Volume, is.kind(), volume.ErrExists)
		}
		return nil
	}
	if !s.Use.Block {
		if err := format(dir, s.Use.FSType); err != nil {
			return err
		}
	}
	return b.change(func(t *table) { t.Staged[s.Path] = want })
}

// Unstage is as in node.Backend. Only a volume that is staged there itself is.
func (b *Backend) Unstage(_ context.Context, vol, path string) error {
	if is, ok := b.staged(path); !ok || is.Volume != vol {
		return nil
	}
	return b.change(func(t *table) { delete(t.Staged, path) })
}

func format(dir, fsType string) error {
	d, err := disk.Open(dir)
	if err != nil {
		return err
	}
	f, err := d.Format(fsType)
	if errors.Is(err, disk.ErrFormatted) {
		return fmt.Errorf("%w: %w", err, volume.ErrState)
	}
	if err != nil {
		return err
	}
	if size, err := d.Size(); err != nil || size == f.Bytes {
		return err
	}
	_, err = d.Grow()
	return err
}

func (s staged) kind() string {
	if s.Block {
		return "a raw device"
	}
	return s.FSType
}
