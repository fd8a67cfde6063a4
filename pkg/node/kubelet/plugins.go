package kubelet

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// foundWithin is how long a kubelet may take to find the CSI driver's registration socket, which was there before it started.
// It looks once a second; a machine with twenty times as much work as processors needs five seconds.
const foundWithin = 40 * time.Second

// watchable returns why a kubelet cannot watch its plugins: on Linux, mostly that the user's inotify instances are used up.
// A kubelet whose watcher does not start logs one line and never registers a CSI driver (pkg/kubelet/pluginmanager's Run),
// while its Node is Ready. One that exits is started again, and its last words are in the events.
func watchable(dir string) error {
	w, err := fsnotify.NewWatcher()
	if err == nil {
		err = errors.Join(w.Add(dir), w.Close())
	}
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("cannot watch its plugins: %w: all programs of a user share fs.inotify.max_user_instances and max_user_watches; "+
			"end some, or try `sysctl fs.inotify.max_user_instances=1024`", err)
	}
	if err != nil {
		return fmt.Errorf("cannot watch its plugins: %w", err)
	}
	return nil
}

// awaitFound returns nil when found is closed or ctx ends, and an error when neither happens within limit.
func awaitFound(ctx context.Context, found <-chan struct{}, limit time.Duration, dir string) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-found:
		return nil
	case <-ctx.Done():
		return nil
	case <-timer.C:
	}
	if err := watchable(dir); err != nil {
		return err
	}
	return fmt.Errorf("has not looked for its plugins within %s", limit)
}
