package folder

import (
	"context"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

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
