package byid

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Folder is the directory of udev's symlinks.
const Folder = "/dev/disk/by-id"

// Timeout is the default timeout for a disk. Kubelet's timeout is two minutes, after which it retries.
const Timeout = 20 * time.Second

// Wait waits up to atMost until a disk's symlink has a target, and returns its path. The UUID may be in any form. Errors:
// volume.ErrInvalid (not a UUID), volume.ErrNotFound, ctx's.
func Wait(ctx context.Context, folder, diskUUID string, atMost time.Duration) (string, error) {
	if len(names.Compact(diskUUID)) != 32 {
		return "", fmt.Errorf("disk UUID %q in the publish context: %w", diskUUID, volume.ErrInvalid)
	}
	link := filepath.Join(folder, names.DeviceLink(diskUUID))
	err := Until(ctx, folder, atMost, func() (bool, error) { return exists(link), nil })
	switch {
	case errors.Is(err, ErrTimeout):
		return "", fmt.Errorf("disk %s: not attached to node: no %s: %w", names.Compact(diskUUID), link, volume.ErrNotFound)
	case err != nil:
		return "", fmt.Errorf("disk %s: not attached to node yet: %w", names.Compact(diskUUID), err)
	}
	return link, nil
}

// exists reports whether the symlink and its target exist. Errors other than "not exist" are left to the user of the path.
func exists(link string) bool {
	_, err := os.Stat(link)
	return !errors.Is(err, fs.ErrNotExist)
}

// ErrTimeout reports that the condition of [Until] did not become true in time.
var ErrTimeout = errors.New("not in time")

// pollInterval is the polling interval without notifications: the folder does not exist, or no watch is available.
const pollInterval = time.Second

// Until calls f now and after every change in a folder until it returns true. Errors: ErrTimeout, ctx's, and f's, which end it.
func Until(ctx context.Context, folder string, atMost time.Duration, f func() (bool, error)) error {
	if is, err := f(); is || err != nil {
		return err
	}
	// A watch is created only if needed, because the kernel limits their number.
	var changes <-chan fsnotify.Event
	if w, err := fsnotify.NewWatcher(); err == nil {
		defer w.Close()
		if w.Add(folder) == nil {
			changes = w.Events
		}
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	deadline := time.NewTimer(atMost)
	defer deadline.Stop()
	for {
		// The condition may have become true before the watch started.
		if is, err := f(); is || err != nil {
			return err
		}
		select {
		case <-changes:
		case <-tick.C:
		case <-deadline.C:
			return ErrTimeout
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
