package folder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"k8s.io/mount-utils"
)

// CanBind tells whether this process may make bind mounts, as far as that can be known before one is tried.
func CanBind() bool { return runtime.GOOS == "linux" && os.Geteuid() == 0 }

// Binds mounts by bind mounts, which takes privilege: see [CanBind]. Make it with [NewBinds].
type Binds struct{ mount mount.Interface }

var _ Mounter = Binds{}

// NewBinds returns a mounter.
func NewBinds() Binds { return Binds{mount.New("")} }

// Mount is as in [Mounter].
func (b Binds) Mount(source, target string, readOnly bool) error {
	if err := makeTarget(source, target); err != nil {
		return err
	}
	options := []string{"bind"}
	if readOnly {
		options = append(options, "ro")
	}
	return b.mount.Mount(source, target, "", options)
}

// makeTarget makes what source can be mounted on: a directory, or a file for a file.
func makeTarget(source, target string) error {
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.MkdirAll(target, 0o750)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o750); err != nil {
		return err
	}
	f, err := os.OpenFile(target, os.O_CREATE|os.O_RDONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// Mounted is as in [Mounter].
func (b Binds) Mounted(target string) (bool, error) {
	is, err := b.mount.IsMountPoint(target)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return is, err
}

// Unmount is as in [Mounter].
func (b Binds) Unmount(target string) error {
	for {
		is, err := b.Mounted(target)
		if err != nil {
			return err
		}
		if !is {
			break
		}
		if err := b.mount.Unmount(target); err != nil {
			return err
		}
	}
	return Links{}.Unmount(target) // what is left is a directory or a file that was mounted on
}
