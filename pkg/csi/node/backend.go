package node

import "context"

// Backend attaches volumes to the node's file system. Every method is idempotent, and completes what a killed process left
// unfinished. The [Server] calls them for one volume one at a time, except Stats, and for several volumes concurrently. They
// return when done or when ctx has ended. An operation that cannot be canceled may continue; the Server waits for it before the
// next one on the volume.
//
// Errors are those of package volume: ErrNotFound (disk not attached, nothing at the path), ErrInvalid, ErrExists (with other
// properties), ErrState (not staged), ErrInUse, ErrNotSupported, ErrUnavailable (not yet).
type Backend interface {
	// Stage waits for the disk, formats it if it is new, and mounts it at a path. For a raw volume it only waits for the disk.
	Stage(ctx context.Context, s Stage) error
	// Unstage undoes Stage.
	Unstage(ctx context.Context, volume, path string) error
	// Publish makes a staged volume available at a path, which it creates.
	Publish(ctx context.Context, p Publish) error
	// Unpublish undoes Publish and removes the path.
	Unpublish(ctx context.Context, volume, path string) error
	// Expand reads the size of the disk again, grows the file system to it, and returns the size in bytes. Error:
	// ErrUnavailable if the disk is smaller than required.
	Expand(ctx context.Context, e Expand) (int64, error)
	// Stats returns the usage of a volume that is staged or published at a path.
	Stats(ctx context.Context, volume, path string) (Stats, error)
	// MountsForGroup reports whether mounts work for every group of users, so that kubelet need not change the owner of each
	// file.
	MountsForGroup() bool
}

// Use is how a volume is used.
type Use struct {
	// Block reports that it is used as a raw device.
	Block bool
	// FSType is the requested file system; never empty unless Block is set.
	FSType string
	Flags  []string // for mount
}

// Stage is the argument of [Backend.Stage].
type Stage struct {
	Volume string
	// Disk is the compact UUID of its disk; empty if volumes have no disks.
	Disk string
	Path string
	Use  Use
}

// Publish is the argument of [Backend.Publish].
type Publish struct {
	Volume string
	// Disk is as in [Stage].
	Disk    string
	Staging string // where it was staged
	Path    string
	Use     Use
	// ReadOnly makes this path read-only.
	ReadOnly bool
	// Exclusive forbids other paths at the same time.
	Exclusive bool
}

// Expand is the argument of [Backend.Expand].
type Expand struct {
	Volume string
	// Path is where it is published or staged.
	Path string
	// Bytes is the required size of the disk; 0 for its current size.
	Bytes int64
}

// Stats is the usage of a volume. A raw volume has only a Capacity.
type Stats struct {
	// Capacity, Used and Available are bytes.
	Capacity, Used, Available      int64
	Inodes, InodesUsed, InodesFree int64
	Block                          bool
}
