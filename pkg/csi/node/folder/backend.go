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

// Disks knows where volumes are.
type Disks interface {
	// Find waits for a volume's disk and returns a path to its directory, which may be a link that vanishes with it.
	// Errors: volume.ErrNotFound, volume.ErrInvalid, ctx's.
	Find(ctx context.Context, volume, disk string) (dir string, err error)
	// Enlarged returns when the disk has at least that many bytes, or with volume.ErrUnavailable when it does not get
	// them.
	Enlarged(ctx context.Context, dir string, bytes int64) error
}

// Mounter makes something visible at another path. A path is one caller's at a time.
type Mounter interface {
	// Mount makes source visible at target, which it makes; what was there before, if it is empty or a link, it replaces.
	Mount(source, target string, readOnly bool) error
	// Mounted tells whether something is mounted at target.
	Mounted(target string) (bool, error)
	// Unmount undoes Mount and removes target. Nothing there is no error.
	Unmount(target string) error
}

// Options make a [Backend].
type Options struct {
	Disks   Disks
	Mounter Mounter
	// Table is the file of the mount table; its directory is made.
	Table string
	// Boot names this boot of the machine: a table of another is done away with. Empty: tables outlive boots.
	Boot string
	// NoBlock, when not empty, says why volumes cannot be used as raw devices.
	NoBlock string
	// MountsForGroup is what the backend tells of itself.
	MountsForGroup bool
	Logger         *slog.Logger
}

// Backend is a node.Backend. Make it with [New].
type Backend struct {
	opts Options

	mu    sync.Mutex
	table table
}

var _ node.Backend = (*Backend)(nil)

// New reads the mount table, or begins one. What is left of another boot it unmounts.
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
		if err := o.Mounter.Unmount(target); err != nil { // in nobody's way until something is to be published there
			o.Logger.Warn("mount of an earlier boot", "target", target, "err", err)
		}
	}
	b.table = newTable(o.Boot)
	return b, b.table.write(o.Table)
}

// MountsForGroup is as in node.Backend.
func (b *Backend) MountsForGroup() bool { return b.opts.MountsForGroup }

// change changes the table and writes it down.
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

// at returns the disk of a volume that is published or staged at a path.
func (b *Backend) at(vol, path string) (d *disk.Disk, block bool, err error) {
	var dir string
	if p, ok := b.published(path); ok && p.Volume == vol {
		dir, block = p.Dir, p.Block
	} else if s, ok := b.staged(path); ok && s.Volume == vol {
		dir, block = s.Dir, s.Block
	} else {
		return nil, false, fmt.Errorf("nothing of it at %s: %w", path, volume.ErrNotFound)
	}
	d, err = disk.Open(dir)
	if err != nil {
		return nil, false, fmt.Errorf("disk is not attached to node any more: %w: %w", err, volume.ErrNotFound)
	}
	return d, block, nil
}

// Expand is as in node.Backend.
func (b *Backend) Expand(ctx context.Context, e node.Expand) (int64, error) {
	d, block, err := b.at(e.Volume, e.Path)
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

// inodeBytes is for how much of its size mkfs.ext4 gives a file system an inode.
const inodeBytes = 16 << 10

// Stats is as in node.Backend. A file system that has more content than it has room for, which nothing keeps it from, is
// full.
func (b *Backend) Stats(ctx context.Context, vol, path string) (node.Stats, error) {
	d, block, err := b.at(vol, path)
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

// table is what is staged and published, by path.
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

// published is a volume at a target path. It is written down before anything is made there.
type published struct {
	Volume string `json:"volume"`
	Dir    string `json:"dir"`
	Block  bool   `json:"block,omitempty"`
	// ReadOnly is what was asked for; a link cannot enforce it.
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

// write replaces the file as a whole, so that a process killed at any moment leaves the table before or this one.
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
