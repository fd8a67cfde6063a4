package device

import (
	"log/slog"
	"time"
)

// Options make the backend.
type Options struct {
	// ByIDDir is where links to disks are; empty for /dev/disk/by-id.
	ByIDDir string
	// Timeout is how long a disk, or its new size, is waited for; 0 for byid.Timeout.
	Timeout time.Duration
	Logger  *slog.Logger // nil: none
}
