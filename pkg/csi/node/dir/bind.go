package dir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"k8s.io/mount-utils"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/folder"
)

// CanBind tells whether this process may make bind mounts, as far as that can be known before one is tried.
func CanBind() bool { return runtime.GOOS == "linux" && os.Geteuid() == 0 }

// binds are bind mounts.
type binds struct{ mount mount.Interface }

var _ folder.Mounter = binds{}

func newBinds() binds { return binds{mount.New("")} }

func (b binds) Mount(source, target string, readOnly bool) error {
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

func (b binds) Mounted(target string) (bool, error) {
	is, err := b.mount.IsMountPoint(target)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return is, err
}

func (b binds) Unmount(target string) error {
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
	return folder.Links{}.Unmount(target) // what is left is a directory or a file that was mounted on
}
