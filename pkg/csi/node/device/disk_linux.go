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

// number is a block device's, by which the kernel knows it whatever its file is called.
type number struct{ major, minor uint32 }

// sys is the device's directory in sysfs.
func (n number) sys() string { return fmt.Sprintf("/sys/dev/block/%d:%d", n.major, n.minor) }

// path is its file in /dev.
func (n number) path() (string, error) {
	to, err := os.Readlink(n.sys())
	return filepath.Join("/dev", filepath.Base(to)), err
}

// size is in bytes; sysfs counts 512 to a sector whatever the device's own are.
func (n number) size() (int64, error) {
	b, err := os.ReadFile(filepath.Join(n.sys(), "size"))
	if err != nil {
		return 0, err
	}
	sectors, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return sectors * 512, err
}

// numberOf is that of a device file. Error: volume.ErrNotFound when it is none, or not there.
func numberOf(path string) (number, error) {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && st.Mode&unix.S_IFMT != unix.S_IFBLK:
		return number{}, fmt.Errorf("%s: is no block device: %w", path, volume.ErrNotFound)
	case err != nil:
		return number{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return number{unix.Major(uint64(st.Rdev)), unix.Minor(uint64(st.Rdev))}, nil //nolint:unconvert // another type on other architectures
}

// find waits for a disk and returns its device file, not the link.
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

// rescan asks the driver of a SCSI device to look how large it is now. Other devices notice by themselves.
func (n number) rescan() error {
	err := os.WriteFile(filepath.Join(n.sys(), "device", "rescan"), []byte("1"), 0o200)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// resized is how often a device is asked again for its size.
const resized = 200 * time.Millisecond

// enlarged returns the device's size once it is that large.
func (b *backend) enlarged(ctx context.Context, n number, bytes int64) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, b.opts.Timeout)
	defer cancel()
	tick := time.NewTicker(resized)
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
