package device

import (
	"log/slog"
	"time"
)

// Options configure the backend.
type Options struct {
	// ByIDDir is the directory of symlinks to disks; /dev/disk/by-id when empty.
	ByIDDir string
	// Timeout is how long to wait for a disk, or for its new size; byid.Timeout when zero.
	Timeout time.Duration
	Logger  *slog.Logger // discarded when nil
}
