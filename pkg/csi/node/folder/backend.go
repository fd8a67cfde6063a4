package folder

import (
	"context"
	"log/slog"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
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
