package loop

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Probe checks whether files can be block devices here, with device files in folder. It leaves nothing. An error has what
// is missing and what to do about it.
func Probe(folder string) error {
	if err := probe(folder); err != nil {
		return fmt.Errorf("files cannot be disks here: %w%s", err, advice(err))
	}
	return nil
}

var errNoDevices = errors.New("its file system is mounted nodev, which disables device files")

func advice(err error) string {
	switch {
	case errors.Is(err, errNoDevices):
		return ": keep the sandbox's state on another file system"
	case errors.Is(err, fs.ErrPermission):
		return ": run as root, outside of containers and with a container runtime that is not rootless"
	case errors.Is(err, fs.ErrNotExist), unbound(err):
		return ": the kernel has no loop devices; try `modprobe loop`"
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOTTY):
		return ": that takes Linux 5.8 or later"
	}
	return ""
}

// probeBytes is the size of the test disk.
const probeBytes = 64 << 10

func probe(folder string) (err error) {
	dir, err := os.MkdirTemp(folder, ".probe-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file, node := filepath.Join(dir, "disk"), filepath.Join(dir, "node")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return err
	}
	if err := os.Truncate(file, probeBytes); err != nil {
		return err
	}
	d, err := Attach(file, false)
	if err != nil {
		return err
	}
	defer func() {
		_, e := d.Detach(context.Background(), maxLook)
		err = errors.Join(err, e)
	}()
	if err := d.CreateNode(node); err != nil {
		return err
	}
	f, err := os.Open(node)
	if err != nil {
		if nodev(dir) {
			return fmt.Errorf("%s: %w", folder, errNoDevices)
		}
		return err
	}
	return f.Close()
}

func nodev(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && st.Flags&unix.ST_NODEV != 0
}
