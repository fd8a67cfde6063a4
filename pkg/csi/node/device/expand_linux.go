package device

import (
	"context"
	"fmt"
	"math"

	"golang.org/x/sys/unix"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// deviceAt returns the device at a path, or the device that is mounted there.
func (b *backend) deviceAt(path string) (n number, block bool, err error) {
	if n, err := numberOf(path); err == nil {
		return n, true, nil
	}
	m, is, err := mountAt(path)
	if err == nil && !is {
		err = fmt.Errorf("nothing is mounted at %s: %w", path, volume.ErrNotFound)
	}
	return m.number, false, err
}

// Expand implements node.Backend.
func (b *backend) Expand(ctx context.Context, e node.Expand) (int64, error) {
	n, block, err := b.deviceAt(e.Path)
	if err != nil {
		return 0, err
	}
	size, err := b.waitForSize(ctx, n, e.Bytes)
	if err != nil || block {
		return size, err
	}
	dev, err := n.path()
	if err != nil {
		return 0, err
	}
	return size, b.grow(dev, e.Path)
}

// Stats implements node.Backend.
func (b *backend) Stats(_ context.Context, _, path string) (node.Stats, error) {
	n, block, err := b.deviceAt(path)
	if err != nil {
		return node.Stats{}, err
	}
	if block {
		size, err := n.size()
		return node.Stats{Capacity: size, Block: true}, err
	}
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return node.Stats{}, err
	}
	unit := uint64(st.Bsize)
	return node.Stats{
		Capacity: count(st.Blocks * unit), Used: count((st.Blocks - st.Bfree) * unit), Available: count(st.Bavail * unit),
		Inodes: count(st.Files), InodesUsed: count(st.Files - st.Ffree), InodesFree: count(st.Ffree),
	}, nil
}

func count(n uint64) int64 { return int64(min(n, math.MaxInt64)) }
