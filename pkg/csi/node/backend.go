package node

import "context"

// Backend puts volumes onto this node. Every method is idempotent: what is so already is no error, and what a killed
// process left half done the next call finishes. The [Server] calls them for one volume one at a time, except Stats, and
// for several volumes at once. They return when it is done or ctx has ended; what cannot be broken off may go on, and its
// caller waits for it before anything else is done to the volume.
//
// Errors are those of package volume: ErrNotFound (disk not attached, nothing at that path), ErrInvalid, ErrExists (there
// in another way), ErrState (not staged first), ErrInUse, ErrNotSupported, ErrUnavailable (not yet).
type Backend interface {
	// Stage waits for the disk, formats it when it is new, and mounts it at a path. A raw one it only looks for.
	Stage(ctx context.Context, s Stage) error
	// Unstage undoes Stage.
	Unstage(ctx context.Context, volume, path string) error
	// Publish makes a staged volume visible at a path, which it makes.
	Publish(ctx context.Context, p Publish) error
	// Unpublish undoes Publish, and removes the path.
	Unpublish(ctx context.Context, volume, path string) error
	// Expand looks again how large the disk is, makes the file system as large, and returns the size in bytes. Error:
	// ErrUnavailable when the disk has not become as large as asked for.
	Expand(ctx context.Context, e Expand) (int64, error)
	// Stats tells of a volume staged or published at a path.
	Stats(ctx context.Context, volume, path string) (Stats, error)
	// MountsForGroup tells whether a mount suits every group of users, so that kubelet need not change the owner of each
	// file.
	MountsForGroup() bool
}

// Use is how a volume is used.
type Use struct {
	// Block: as a raw device.
	Block bool
	// FSType is the file system asked for; never empty unless Block.
	FSType string
	Flags  []string // for mount
}

// Stage asks for a volume to be staged.
type Stage struct {
	Volume string
	// Disk is its disk's UUID, compact; empty where volumes have no disks.
	Disk string
	Path string
	Use  Use
}

// Publish asks for a staged volume to be published.
type Publish struct {
	Volume string
	// Disk is as in [Stage].
	Disk    string
	Staging string // where it was staged
	Path    string
	Use     Use
	// ReadOnly: at this path.
	ReadOnly bool
	// Alone: at no other path at the same time.
	Alone bool
}

// Expand asks for a volume's file system to grow.
type Expand struct {
	Volume string
	// Path is where it is published or staged.
	Path string
	// Bytes is the size that the disk is to have at least; 0 for what it has.
	Bytes int64
}

// Stats is how full a volume is. A raw one has a Capacity only.
type Stats struct {
	// Capacity, Used and Available are bytes.
	Capacity, Used, Available      int64
	Inodes, InodesUsed, InodesFree int64
	Block                          bool
}
