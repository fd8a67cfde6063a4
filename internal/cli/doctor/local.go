package doctor

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/preflight"
)

// local is this machine.
type local struct{}

func (local) Limits() preflight.Machine { return preflight.Here() }

// Write leaves nothing behind that was not there.
func (local) Write(dir string) error {
	missing := firstMissing(dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".doctor.*")
	if err == nil {
		err = errors.Join(f.Close(), os.Remove(f.Name()))
	}
	for missing != "" && dir != filepath.Dir(missing) {
		if os.Remove(dir) != nil { // somebody uses it by now
			break
		}
		dir = filepath.Dir(dir)
	}
	return err
}

// firstMissing returns the topmost directory on the way to dir that does not exist, "" when dir does.
func firstMissing(dir string) string {
	missing := ""
	for {
		if _, err := os.Lstat(dir); err == nil {
			return missing
		}
		missing = dir
		parent := filepath.Dir(dir)
		if parent == dir {
			return missing
		}
		dir = parent
	}
}
