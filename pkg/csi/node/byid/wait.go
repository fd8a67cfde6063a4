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

// Folder is where udev makes the links.
const Folder = "/dev/disk/by-id"

// Timeout is how long a disk is waited for by default. Kubelet gives a call two minutes, and comes again.
const Timeout = 20 * time.Second

// Wait returns the path of a disk's link in a folder, once it leads somewhere; it looks for at most that long. The UUID
// may be in any form. Errors: volume.ErrInvalid (no UUID), volume.ErrNotFound, ctx's.
func Wait(ctx context.Context, folder, diskUUID string, atMost time.Duration) (string, error) {
	if len(names.Compact(diskUUID)) != 32 {
		return "", fmt.Errorf("disk UUID %q in the publish context: %w", diskUUID, volume.ErrInvalid)
	}
	link := filepath.Join(folder, names.DeviceLink(diskUUID))
	err := Until(ctx, folder, atMost, func() (bool, error) { return there(link), nil })
	switch {
	case errors.Is(err, ErrTimeout):
		return "", fmt.Errorf("disk %s: not attached to node: no %s: %w", names.Compact(diskUUID), link, volume.ErrNotFound)
	case err != nil:
		return "", fmt.Errorf("disk %s: not attached to node yet: %w", names.Compact(diskUUID), err)
	}
	return link, nil
}

// there tells whether the link is there, and what it leads to. What cannot be looked at is left to who uses it.
func there(link string) bool {
	_, err := os.Stat(link)
	return !errors.Is(err, fs.ErrNotExist)
}

// ErrTimeout is returned for what has not become so in time.
var ErrTimeout = errors.New("not in time")

// look is how often to look where nothing tells of a change: no folder yet, no watch to be had.
const look = time.Second

// Until looks whether something is so, at once and whenever something changes in a folder, until it is. Errors: ErrTimeout,
// ctx's, and f's, which end it.
func Until(ctx context.Context, folder string, atMost time.Duration, f func() (bool, error)) error {
	if is, err := f(); is || err != nil {
		return err
	}
	// A watch is made only when there is something to wait for: the kernel gives out few of them.
	var changes <-chan fsnotify.Event
	if w, err := fsnotify.NewWatcher(); err == nil {
		defer w.Close()
		if w.Add(folder) == nil {
			changes = w.Events
		}
	}
	tick := time.NewTicker(look)
	defer tick.Stop()
	deadline := time.NewTimer(atMost)
	defer deadline.Stop()
	for {
		// It may have become so before the watch began.
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
