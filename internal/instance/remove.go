package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
)

// Remove removes the directory with everything in it, and the socket's, and
// gives the lock back. Of a directory that was removed under its owner it
// removes what the sandbox's processes have made again since; another sandbox's
// that has taken its place it leaves alone. Symbolic links are removed, not followed. The caller has
// ended the sandbox's processes. A second Remove does nothing; a reader gets
// ErrNotOwner.
func (d *Dir) Remove() error {
	if d.journal == nil && d.owned() != nil {
		return ErrNotOwner
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lock == nil {
		return nil
	}
	if !sameFile(d.lock, filepath.Join(d.path, lockName)) {
		err := errors.Join(d.removeLost(), d.lock.Close(), d.claim.giveUp())
		d.lock, d.claim = nil, nil
		if err != nil {
			return fmt.Errorf("sandbox %q: %w", d.name, err)
		}
		return nil
	}
	_, err := empty(d.path)
	if err == nil {
		// The lock file goes last and while the lock is held; who gets the lock
		// of a file that is not there any more knows what that means.
		err = os.Remove(filepath.Join(d.path, lockName))
	}
	if err == nil {
		// When it is not empty a new sandbox of that name has just come.
		_ = os.Remove(d.path)
	}
	err = errors.Join(err, d.lock.Close(), d.claim.giveUp())
	d.lock, d.claim = nil, nil
	if err != nil {
		return fmt.Errorf("sandbox %q: %w", d.name, err)
	}
	return nil
}

// empty removes all but the lock file, and tells whether there was anything.
func empty(path string) (removed bool, err error) {
	if err := private.Dir(path); err != nil {
		return false, err
	}
	if err := removeSocketDir(path); err != nil {
		return false, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return false, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return false, err
	}
	for _, entry := range entries {
		if entry.Name() == lockName {
			continue
		}
		if err := removeAll(root, entry.Name()); err != nil {
			return removed, err
		}
		removed = true
	}
	return removed, nil
}

// removeAll is root.RemoveAll, also of directories that are read-only, as
// volumes may leave them. Root keeps it inside the directory.
func removeAll(root *os.Root, name string) error {
	err := root.RemoveAll(name)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = fs.WalkDir(root.FS(), name, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = root.Chmod(path, 0o700)
		}
		return nil
	})
	return root.RemoveAll(name)
}
