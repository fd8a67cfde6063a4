package byid

import (
	"context"
	"errors"
	"time"

	"github.com/fsnotify/fsnotify"
)

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
