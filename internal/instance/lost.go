package instance

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
)

// lostTick is how often a sandbox looks whether its directory is there: soon enough for the user who removed it to wait, and
// seldom enough to cost nothing.
const lostTick = time.Second

// AwaitRemoval returns true once the directory has been removed under its owner, with its lock at least; false when ctx ends
// first. The owner is then to end: nothing in the state root says any more that it runs. Owner only.
func (d *Dir) AwaitRemoval(ctx context.Context) bool {
	for tick := time.NewTicker(lostTick); ; {
		if d.lost() {
			tick.Stop()
			return true
		}
		d.remember()
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return false
		}
	}
}

// lost reports that the lock which the owner holds is not that of the directory any more.
func (d *Dir) lost() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lock != nil && !sameFile(d.lock, filepath.Join(d.path, lockName))
}

// remember takes down what the owner's processes have put into the directory.
func (d *Dir) remember() {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lock == nil || !sameFile(d.lock, filepath.Join(d.path, lockName)) {
		return // it may be another's by now
	}
	if d.seen == nil {
		d.seen = map[string]bool{}
	}
	for _, e := range entries {
		d.seen[e.Name()] = true
	}
}

// removeLost removes what the owner's processes have made again of a directory that was removed under them: a log, a
// directory of a kubelet. It leaves a directory alone that has a lock, or anything that had not been in the owner's.
// The caller has d.mu.
func (d *Dir) removeLost() error {
	if dir := shortDir(d.path); trusted(dir) == nil { // the note that names it is gone
		if err := emptyShortDir(dir); err != nil {
			return err
		}
		_ = os.Remove(dir)
	}
	if err := private.Dir(d.path); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == lockName || !d.seen[e.Name()] {
			return nil
		}
	}
	if _, err := empty(d.path); err != nil {
		return err
	}
	return os.Remove(d.path)
}
