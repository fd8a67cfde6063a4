package ccm

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Settle is how long a file that is being written has to have been left alone to count as written.
const Settle = 300 * time.Millisecond

// Watch calls rebuilt with the program at path each time that it has become another: once its file has been left alone
// for [Settle], can be run here, and holds something else than before. It follows the folder, so that the file may be
// deleted and made anew, as compilers do; the folder has to stay. It returns nil when ctx ends, and an error when the
// folder cannot be watched. Calls of rebuilt come one at a time; what is built during one is told by a later one.
func Watch(ctx context.Context, path string, rebuilt func(Program)) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch %s: %w", path, err)
	}
	defer w.Close()
	if err := w.Add(filepath.Dir(path)); err != nil {
		return fmt.Errorf("watch %s: %w", path, err)
	}
	source := Source{File, path}
	known, _ := source.Resolve(ctx, Options{}) // it may be to come
	// What was built before the folder was watched is told, too: known is what there was then.
	settled := time.NewTimer(Settle)
	defer settled.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-w.Events:
			if !ok {
				return errors.New("watch ended")
			}
			if e.Name == path {
				settled.Reset(Settle)
			}
		case err, ok := <-w.Errors:
			if !ok {
				return errors.New("watch ended")
			}
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				return fmt.Errorf("watch %s: %w", path, err)
			}
			settled.Reset(Settle)
		case <-settled.C:
			now, err := source.Resolve(ctx, Options{})
			if err != nil || now.Digest == known.Digest {
				continue // not yet there, or whole; or the same once more
			}
			known = now
			rebuilt(now)
		}
	}
}
