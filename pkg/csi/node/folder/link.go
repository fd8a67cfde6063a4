package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Links mounts by symbolic links, which needs no privilege. Whether a mount is read-only a link cannot tell.
type Links struct{}

var _ Mounter = Links{}

// Mount is as in [Mounter]. The link replaces what is there in one step.
func (Links) Mount(source, target string, _ bool) error {
	info, err := os.Lstat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.Mode().Type() == fs.ModeSymlink || info.Mode().IsRegular() && info.Size() == 0:
	case info.IsDir():
		if err := os.Remove(target); err != nil { // not when it is not empty
			return err
		}
	default:
		return fmt.Errorf("%s: is there already, and no empty directory", target)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o750); err != nil {
		return err
	}
	next := target + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(source, next); err != nil {
		return err
	}
	return os.Rename(next, target)
}

// Mounted is as in [Mounter].
func (Links) Mounted(target string) (bool, error) {
	info, err := os.Lstat(target)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && info.Mode().Type() == fs.ModeSymlink, err
}

// Unmount is as in [Mounter]. A directory that has something in it was not made here, and is an error.
func (Links) Unmount(target string) error {
	if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
