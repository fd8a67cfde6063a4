package device

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/mount-utils"
	"k8s.io/utils/exec"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/byid"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// backend implements node.Backend. It has no state.
type backend struct {
	opts  Options
	mount *mount.SafeFormatAndMount
}

var _ node.Backend = (*backend)(nil)

// New returns the backend, which needs the privilege to mount.
func New(o Options) (node.Backend, error) {
	o.ByIDDir = cmp.Or(o.ByIDDir, byid.Folder)
	o.Timeout = cmp.Or(o.Timeout, byid.Timeout)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &backend{opts: o, mount: mount.NewSafeFormatAndMount(mount.New(""), exec.New())}, nil
}

// MountsForGroup returns false: kubelet changes the group of files according to the pod and the CSIDriver object.
func (b *backend) MountsForGroup() bool { return false }

// number is a block device's number, which identifies it independently of its device file.
type number struct{ major, minor uint32 }

func (n number) sys() string { return fmt.Sprintf("/sys/dev/block/%d:%d", n.major, n.minor) }

// path returns its file in /dev.
func (n number) path() (string, error) {
	to, err := os.Readlink(n.sys())
	return filepath.Join("/dev", filepath.Base(to)), err
}

// size returns the size in bytes; sysfs counts sectors of 512 for every device.
func (n number) size() (int64, error) {
	b, err := os.ReadFile(filepath.Join(n.sys(), "size"))
	if err != nil {
		return 0, err
	}
	sectors, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return sectors * 512, err
}

// numberOf returns the number of a device file. Error: volume.ErrNotFound if it is not one, or does not exist.
func numberOf(path string) (number, error) {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && st.Mode&unix.S_IFMT != unix.S_IFBLK:
		return number{}, fmt.Errorf("%s: not a block device: %w", path, volume.ErrNotFound)
	case err != nil:
		return number{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return number{unix.Major(uint64(st.Rdev)), unix.Minor(uint64(st.Rdev))}, nil //nolint:unconvert // another type on other architectures
}

// find waits for a disk and returns its device file, not the symlink.
func (b *backend) find(ctx context.Context, uuid string) (dev string, n number, err error) {
	link, err := byid.Wait(ctx, b.opts.ByIDDir, uuid, b.opts.Timeout)
	if err != nil {
		return "", number{}, err
	}
	if dev, err = filepath.EvalSymlinks(link); err != nil {
		return "", number{}, err
	}
	n, err = numberOf(dev)
	return dev, n, err
}

// rescan makes the driver of a SCSI device read its size again. Other devices need no rescan.
func (n number) rescan() error {
	err := os.WriteFile(filepath.Join(n.sys(), "device", "rescan"), []byte("1"), 0o200)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// pollInterval is the polling interval for a device's size.
const pollInterval = 200 * time.Millisecond

// waitForSize waits until the device has at least the size, and returns its size.
func (b *backend) waitForSize(ctx context.Context, n number, bytes int64) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, b.opts.Timeout)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if err := n.rescan(); err != nil {
			return 0, err
		}
		size, err := n.size()
		if err != nil || size >= bytes {
			return size, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return size, fmt.Errorf("disk has %d bytes, not the %d required: %w", size, bytes, volume.ErrUnavailable)
		}
	}
}

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

// deviceAt returns the device at a path, or the device that is mounted there.
func (b *backend) deviceAt(path string) (n number, block bool, err error) {
	if n, err := numberOf(path); err == nil {
		return n, true, nil
	}
	m, is, err := mountAt(path)
	if err == nil && !is {
		err = fmt.Errorf("nothing is mounted at %s: %w", path, volume.ErrNotFound)
	}
	return m.number, false, err
}

// Expand implements node.Backend.
func (b *backend) Expand(ctx context.Context, e node.Expand) (int64, error) {
	n, block, err := b.deviceAt(e.Path)
	if err != nil {
		return 0, err
	}
	size, err := b.waitForSize(ctx, n, e.Bytes)
	if err != nil || block {
		return size, err
	}
	dev, err := n.path()
	if err != nil {
		return 0, err
	}
	return size, b.grow(dev, e.Path)
}

// Stats implements node.Backend.
func (b *backend) Stats(_ context.Context, _, path string) (node.Stats, error) {
	n, block, err := b.deviceAt(path)
	if err != nil {
		return node.Stats{}, err
	}
	if block {
		size, err := n.size()
		return node.Stats{Capacity: size, Block: true}, err
	}
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return node.Stats{}, err
	}
	unit := uint64(st.Bsize)
	return node.Stats{
		Capacity: count(st.Blocks * unit), Used: count((st.Blocks - st.Bfree) * unit), Available: count(st.Bavail * unit),
		Inodes: count(st.Files), InodesUsed: count(st.Files - st.Ffree), InodesFree: count(st.Ffree),
	}, nil
}

func count(n uint64) int64 { return int64(min(n, math.MaxInt64)) }
