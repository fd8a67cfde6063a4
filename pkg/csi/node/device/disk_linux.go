package device

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/byid"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

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
