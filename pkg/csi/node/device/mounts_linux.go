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

// mounts is this process's own mount table.
const mounts = "/proc/self/mountinfo"

// mounted is what a path is a mount point of.
type mounted struct {
	number   // of the device that its file system is on
	fsType   string
	readOnly bool
}

// at returns what is mounted at a path, on top of all else there.
func at(path string) (m mounted, is bool, err error) {
	table, err := mount.ParseMountInfo(mounts)
	if err != nil {
		return m, false, err
	}
	path = resolved(path)
	for _, i := range table {
		if i.MountPoint == path {
			m, is = of(i), true // the later is the upper one
		}
	}
	return m, is, nil
}

func of(i mount.MountInfo) mounted {
	return mounted{number{uint32(i.Major), uint32(i.Minor)}, i.FsType, slices.Contains(i.MountOptions, "ro")}
}

// others are the mount points of a device other than these.
func others(n number, but ...string) ([]string, error) {
	table, err := mount.ParseMountInfo(mounts)
	if err != nil {
		return nil, err
	}
	for i := range but {
		but[i] = resolved(but[i])
	}
	var paths []string
	for _, i := range table {
		if of(i).number == n && !slices.Contains(but, i.MountPoint) {
			paths = append(paths, i.MountPoint)
		}
	}
	return paths, nil
}

// resolved is the path without links in it, as the kernel shows mount points.
func resolved(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return filepath.Clean(path)
}

// maxLayers is how many mounts on top of each other are taken off a path. There should be one.
const maxLayers = 16

// unmount takes off all that is mounted at a path.
func (b *backend) unmount(path string) error {
	for range maxLayers {
		if _, is, err := at(path); err != nil || !is {
			return err
		}
		if err := b.mount.Unmount(path); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: something is mounted there again and again", path)
}

// remove removes a mount point that nothing is mounted at; what has something in it is not one, and an error.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
