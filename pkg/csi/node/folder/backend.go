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
	"sync"

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
	Logger         *slog.Logger
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
