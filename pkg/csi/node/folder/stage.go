package folder

import (
	"context"
	"errors"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

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
