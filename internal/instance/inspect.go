package instance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
)

// inspect returns an error unless path is an instance directory of this user:
// one with a lock file of ours, or one so new that it has nothing but its lock,
// still empty, in it. With toRun an empty directory will do. It keeps a state
// root set to, say, the home directory from doing harm.
func inspect(path string, why purpose) error {
	if err := private.Dir(path); err != nil {
		return err
	}
	lock, err := os.Lstat(filepath.Join(path, lockName))
	switch {
	case err == nil && lock.Mode().IsRegular() && lock.Size() == int64(lockLength):
		if text, err := private.ReadFile(filepath.Join(path, lockName)); err != nil {
			return err
		} else if strings.HasPrefix(string(text), "vsphere-sandbox ") {
			return nil
		}
	case err == nil && lock.Mode().IsRegular() && lock.Size() == 0:
		return onlyLock(path)
	case os.IsNotExist(err) && why == toRun:
		return onlyLock(path)
	}
	return fmt.Errorf("%s: %w", path, ErrForeign)
}

// onlyLock returns an error when the directory has something beside its lock.
func onlyLock(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() != lockName {
			// A sandbox may have come to life since the lock was looked at.
			if _, why := holder(path); why != "" {
				return nil
			}
			return fmt.Errorf("%s: %w", path, ErrForeign)
		}
	}
	return nil
}
