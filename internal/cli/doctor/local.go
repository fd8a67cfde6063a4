package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// local is this machine.
type local struct{}

func (local) Listen(ctx context.Context, address string) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return l.Close()
}

func (local) Memory() (uint64, error) { return memory() }

func (local) Disk(dir string) (uint64, error) {
	var s unix.Statfs_t
	for {
		err := unix.Statfs(dir, &s)
		if parent := filepath.Dir(dir); errors.Is(err, fs.ErrNotExist) && parent != dir {
			dir = parent
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("%s: %w", dir, err)
		}
		return s.Bavail * uint64(s.Bsize), nil
	}
}

func (local) OpenFiles() (uint64, error) {
	var l unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l)
	return uint64(l.Cur), err
}

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
