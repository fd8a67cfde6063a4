package folder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"k8s.io/mount-utils"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Disks finds the directories of volumes.
type Disks interface {
	// Find waits for a volume's disk and returns its directory, or a symlink that disappears with it. Errors:
	// volume.ErrNotFound, volume.ErrInvalid, ctx's.
	Find(ctx context.Context, volume, disk string) (dir string, err error)
	// Enlarged waits until the disk has at least that many bytes. Error: volume.ErrUnavailable if it stays smaller.
	Enlarged(ctx context.Context, dir string, bytes int64) error
}

// Mounter makes a directory or file available at another path. Calls for the same path must not be concurrent.
type Mounter interface {
	// Mount makes source available at target, which it creates. It replaces an empty directory or file, or a symlink.
	Mount(source, target string, readOnly bool) error
	// Mounted reports whether something is mounted at target.
	Mounted(target string) (bool, error)
	// Unmount undoes Mount and removes target, if it exists.
	Unmount(target string) error
}

// Options configure a [Backend].
type Options struct {
	Disks   Disks
	Mounter Mounter
	// Table is the file of the mount table; its directory is created if needed.
	Table string
	// Boot identifies this boot of the node: the mount table of another boot is discarded. Empty: it stays valid.
	Boot string
	// NoBlock, if not empty, is the reason why volumes cannot be used as raw devices.
	NoBlock string
	// MountsForGroup is the result of [Backend.MountsForGroup].
	MountsForGroup bool
	// Share returns the directory of an NFS export's content. Nil: the node cannot mount shares.
	Share  func(export string) (dir string, err error)
	Logger *slog.Logger
}

// Backend implements node.Backend. Create it with [New].
type Backend struct {
	opts Options

	mu    sync.Mutex
	table table
}

var _ node.Backend = (*Backend)(nil)

// New reads the mount table, or creates one. It unmounts what is left of another boot.
func New(o Options) (*Backend, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	t, err := readTable(o.Table)
	if err != nil {
		return nil, err
	}
	b := &Backend{opts: o, table: t}
	if o.Boot == "" || t.Boot == o.Boot {
		return b, nil
	}
	for target := range t.Published {
		if err := o.Mounter.Unmount(target); err != nil { // harmless until something is published there
			o.Logger.Warn("cannot remove a mount of an earlier boot", "target", target, "err", err)
		}
	}
	b.table = newTable(o.Boot)
	return b, b.table.write(o.Table)
}

// MountsForGroup implements node.Backend.
func (b *Backend) MountsForGroup() bool { return b.opts.MountsForGroup }

// change modifies the table and writes it.
func (b *Backend) change(f func(*table)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := b.table.copy()
	f(&next)
	if err := next.write(b.opts.Table); err != nil {
		return err
	}
	b.table = next
	return nil
}

func (b *Backend) staged(path string) (staged, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, ok := b.table.Staged[path]
	return s, ok
}

func (b *Backend) published(path string) (published, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok := b.table.Published[path]
	return p, ok
}

// diskAt returns the disk of a volume that is published or staged at a path.
func (b *Backend) diskAt(vol, path string) (d *disk.Disk, block bool, err error) {
	var dir string
	if p, ok := b.published(path); ok && p.Volume == vol {
		dir, block = p.Dir, p.Block
	} else if s, ok := b.staged(path); ok && s.Volume == vol {
		dir, block = s.Dir, s.Block
	} else {
		return nil, false, fmt.Errorf("it is not staged or published at %s: %w", path, volume.ErrNotFound)
	}
	d, err = disk.Open(dir)
	if err != nil {
		return nil, false, fmt.Errorf("disk is no longer attached to the node: %w: %w", err, volume.ErrNotFound)
	}
	return d, block, nil
}

// Expand implements node.Backend.
func (b *Backend) Expand(ctx context.Context, e node.Expand) (int64, error) {
	d, block, err := b.diskAt(e.Volume, e.Path)
	if err != nil {
		return 0, err
	}
	if err := b.opts.Disks.Enlarged(ctx, d.Dir(), e.Bytes); err != nil {
		return 0, err
	}
	if block {
		if _, err := d.Block(); err != nil {
			return 0, err
		}
		return d.Size()
	}
	f, err := d.Grow()
	return f.Bytes, err
}

// inodeBytes is the number of bytes per inode of mkfs.ext4.
const inodeBytes = 16 << 10

// Stats implements node.Backend. The content may exceed the size of the file system, which is not enforced; then it is full.
func (b *Backend) Stats(ctx context.Context, vol, path string) (node.Stats, error) {
	d, block, err := b.diskAt(vol, path)
	if err != nil {
		return node.Stats{}, err
	}
	if block {
		size, err := d.Size()
		return node.Stats{Capacity: size, Block: true}, err
	}
	f, _, err := d.FileSystem()
	if err != nil {
		return node.Stats{}, err
	}
	u, err := d.Usage(ctx)
	if err != nil {
		return node.Stats{}, err
	}
	inodes := f.Bytes / inodeBytes
	return node.Stats{
		Capacity: f.Bytes, Used: u.Bytes, Available: max(f.Bytes-u.Bytes, 0),
		Inodes: inodes, InodesUsed: u.Files, InodesFree: max(inodes-u.Files, 0),
	}, nil
}

// table lists staged and published volumes by path.
type table struct {
	Boot      string               `json:"boot,omitempty"`
	Staged    map[string]staged    `json:"staged"`
	Published map[string]published `json:"published"`
}

// staged is a volume at its staging path.
type staged struct {
	Volume string `json:"volume"`
	// Dir is the disk's directory.
	Dir    string `json:"dir"`
	Block  bool   `json:"block,omitempty"`
	FSType string `json:"fsType,omitempty"`
}

// published is a volume at a target path. It is written before the target is created.
type published struct {
	Volume string `json:"volume"`
	Dir    string `json:"dir"`
	Block  bool   `json:"block,omitempty"`
	// ReadOnly is the requested mode; a symlink cannot enforce it.
	ReadOnly bool `json:"readOnly,omitempty"`
	Alone    bool `json:"alone,omitempty"`
}

func newTable(boot string) table {
	return table{Boot: boot, Staged: map[string]staged{}, Published: map[string]published{}}
}

func readTable(path string) (table, error) {
	t := newTable("")
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &t)
	}
	if err != nil {
		return t, fmt.Errorf("mount table %s: %w", path, err)
	}
	return t, nil
}

// write replaces the file atomically, so that a killed process leaves either the old or the new table.
func (t table) write(path string) error {
	b, err := json.MarshalIndent(t, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = atomicfile.WriteFile(path, b, 0o600)
	}
	if err != nil {
		return fmt.Errorf("mount table: %w", err)
	}
	return nil
}

func (t table) copy() table {
	t.Staged, t.Published = maps.Clone(t.Staged), maps.Clone(t.Published)
	return t
}

// Publish implements node.Backend.
func (b *Backend) Publish(_ context.Context, p node.Publish) error {
	s, ok := b.staged(p.Staging)
	switch {
	case !ok || s.Volume != p.Volume:
		return fmt.Errorf("not staged at %s: %w", p.Staging, volume.ErrState)
	case s.Block != p.Use.Block || s.FSType != p.Use.FSType:
		return fmt.Errorf("staged as %s: %w", s.kind(), volume.ErrState)
	}
	want := published{Volume: p.Volume, Dir: s.Dir, Block: s.Block, ReadOnly: p.ReadOnly, Alone: p.Exclusive}
	if is, ok := b.published(p.Path); ok {
		if is != want {
			return fmt.Errorf("%s: volume %s is published there with other properties: %w", p.Path, is.Volume, volume.ErrExists)
		}
		// A service that was killed may have written the table and not mounted yet.
		if mounted, err := b.opts.Mounter.Mounted(p.Path); err != nil || mounted {
			return err
		}
	} else if other, is := b.otherPath(p); is {
		return fmt.Errorf("already published at %s, and the volume allows only one path: %w", other, volume.ErrInUse)
	}
	d, err := disk.Open(s.Dir)
	if err != nil {
		return fmt.Errorf("disk is no longer attached to the node: %w: %w", err, volume.ErrNotFound)
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

// PublishShare implements node.Backend.
func (b *Backend) PublishShare(_ context.Context, p node.PublishShare) error {
	if b.opts.Share == nil {
		return fmt.Errorf("file volume: this node has no NFS client for %s: %w", p.Export, volume.ErrNotSupported)
	}
	dir, err := b.opts.Share(p.Export)
	if err != nil {
		return err
	}
	d, err := disk.Open(dir)
	if err != nil {
		return fmt.Errorf("%s: no such export: %w: %w", p.Export, err, volume.ErrNotFound)
	}
	want := published{Volume: p.Volume, Dir: dir, ReadOnly: p.ReadOnly}
	if is, ok := b.published(p.Path); ok && is != want {
		return fmt.Errorf("%s: volume %s is published there with other properties: %w", p.Path, is.Volume, volume.ErrExists)
	} else if mounted, err := b.opts.Mounter.Mounted(p.Path); ok && (mounted || err != nil) {
		return err
	}
	if err := b.change(func(t *table) { t.Published[p.Path] = want }); err != nil {
		return err
	}
	return b.opts.Mounter.Mount(d.Data(), p.Path, p.ReadOnly)
}

// otherPath returns another path of a volume that allows only one.
func (b *Backend) otherPath(p node.Publish) (path string, is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for path, o := range b.table.Published {
		if o.Volume != p.Volume || path == p.Path || !o.Alone && !p.Exclusive {
			continue
		}
		// After a power failure the mounts are gone without an unpublish.
		if mounted, err := b.opts.Mounter.Mounted(path); mounted || err != nil {
			return path, true
		}
	}
	return "", false
}

// Unpublish implements node.Backend. It does not touch another volume at the path.
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

// CanBind reports whether this process may create bind mounts, as far as that is known without trying.
func CanBind() bool { return runtime.GOOS == "linux" && os.Geteuid() == 0 }

// Binds mounts with bind mounts, which need privilege: see [CanBind]. Create it with [NewBinds].
type Binds struct{ mount mount.Interface }

var _ Mounter = Binds{}

// NewBinds returns a mounter.
func NewBinds() Binds { return Binds{mount.New("")} }

// Mount implements [Mounter].
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

// makeTarget creates a mount point for source: a directory or a file.
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

// Mounted implements [Mounter].
func (b Binds) Mounted(target string) (bool, error) {
	is, err := b.mount.IsMountPoint(target)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return is, err
}

// Unmount implements [Mounter].
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
	return Links{}.Unmount(target) // the mount point
}

// Links mounts with symlinks, which need no privilege. They do not enforce read-only mounts.
type Links struct{}

var _ Mounter = Links{}

// Mount implements [Mounter]. It replaces the target atomically.
func (Links) Mount(source, target string, _ bool) error {
	info, err := os.Lstat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.Mode().Type() == fs.ModeSymlink || info.Mode().IsRegular() && info.Size() == 0:
	case info.IsDir():
		if err := os.Remove(target); err != nil { // fails if it is not empty
			return err
		}
	default:
		return fmt.Errorf("%s: exists and is not an empty directory", target)
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

// Mounted implements [Mounter].
func (Links) Mounted(target string) (bool, error) {
	info, err := os.Lstat(target)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && info.Mode().Type() == fs.ModeSymlink, err
}

// Unmount implements [Mounter]. It returns an error for a directory with content, which it did not create.
func (Links) Unmount(target string) error {
	if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Stage implements node.Backend. It grows the file system if the disk is larger, as when a snapshot was restored to a larger disk.
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

// Unstage implements node.Backend. It does nothing if the volume is not staged at the path.
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
