package instance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Create makes the directory of a new sandbox and takes its lock. What a dead
// sandbox of that name has left is ended and removed first (see [Reap] and
// [Dir.Predecessor]). The error is an ErrRunning when a live sandbox has the
// name, and one with ErrForeign when the directory is none of a sandbox's.
// The caller keeps the Dir, for the lock goes with it, and ends with Remove.
func Create(root, name string) (*Dir, error) {
	if err := ValidateName(name); err != nil {
		return nil, err
	}
	if err := makeRoot(root); err != nil {
		return nil, err
	}
	path, err := resolve(root, name)
	if err != nil {
		return nil, err
	}
	claim, err := takeClaim(path, name)
	if err != nil {
		return nil, err
	}
	lock, err := acquire(path, name, toRun)
	if err != nil {
		return nil, errors.Join(err, claim.giveUp())
	}
	d := &Dir{name: name, path: path, lock: lock, claim: claim}
	if d.left, err = clean(context.Background(), path, name); err != nil {
		// What is left may still be in use: it stays for another try.
		return nil, errors.Join(fmt.Errorf("what sandbox %q left: %w", name, err), d.Close())
	}
	// Where the claim cannot be written, the disk of its place being full, the sandbox can do without.
	_ = claim.enter()
	if err := d.furnish(); err != nil {
		_, emptyErr := empty(path)
		abandon(path, lock)
		return nil, errors.Join(fmt.Errorf("state directory: %w", err), emptyErr, claim.giveUp())
	}
	return d, nil
}

// furnish puts into the empty directory what every sandbox has.
func (d *Dir) furnish() error {
	if err := os.Chmod(d.path, 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(d.path, "logs"), 0o700); err != nil {
		return err
	}
	socket, err := makeSocketDir(d.path)
	if err != nil {
		return err
	}
	d.socket = socket
	d.journal = &Journal{path: filepath.Join(d.path, journalName), owned: d.owned}
	return nil
}
