package device

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/mount-utils"
)

// mounts is this process's mount table.
const mounts = "/proc/self/mountinfo"

// mounted is the mount at a path.
type mounted struct {
	number   // of the device that its file system is on
	fsType   string
	readOnly bool
}

// mountAt returns the topmost mount at a path.
func mountAt(path string) (m mounted, is bool, err error) {
	table, err := mount.ParseMountInfo(mounts)
	if err != nil {
		return m, false, err
	}
	path = resolved(path)
	for _, i := range table {
		if i.MountPoint == path {
			m, is = mountOf(i), true // later entries are on top
		}
	}
	return m, is, nil
}

func mountOf(i mount.MountInfo) mounted {
	return mounted{number{uint32(i.Major), uint32(i.Minor)}, i.FsType, slices.Contains(i.MountOptions, "ro")}
}

// otherMounts returns the mount points of a device other than these.
func otherMounts(n number, but ...string) ([]string, error) {
	table, err := mount.ParseMountInfo(mounts)
	if err != nil {
		return nil, err
	}
	for i := range but {
		but[i] = resolved(but[i])
	}
	var paths []string
	for _, i := range table {
		if mountOf(i).number == n && !slices.Contains(but, i.MountPoint) {
			paths = append(paths, i.MountPoint)
		}
	}
	return paths, nil
}

// resolved returns the path without symlinks, as in the mount table.
func resolved(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return filepath.Clean(path)
}

// maxLayers is how many mounts at one path are unmounted. There should be one.
const maxLayers = 16

// unmount removes all mounts at a path.
func (b *backend) unmount(path string) error {
	for range maxLayers {
		if _, is, err := mountAt(path); err != nil || !is {
			return err
		}
		if err := b.mount.Unmount(path); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: still mounted after several unmounts", path)
}

// remove removes an unmounted mount point. A directory with content is an error.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
