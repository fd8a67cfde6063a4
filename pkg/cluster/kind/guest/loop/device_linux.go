package loop

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// major is that of all loop devices.
const major = 7

// Device is a loop device by its number. It holds no file open.
type Device int

// String is its name, such as loop7.
func (d Device) String() string { return fmt.Sprintf("loop%d", int(d)) }

// attempts is how often a free device is asked for: between asking and taking, others may take it.
const attempts = 16

// Attach makes a file the content of a free device. What the file ends with that fills no sector is left out.
func Attach(file string, readOnly bool) (Device, error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return 0, fmt.Errorf("loop device: %w", err)
	}
	defer control.Close()
	mode := os.O_RDWR
	config := unix.LoopConfig{}
	if readOnly {
		mode = os.O_RDONLY
		config.Info.Flags |= unix.LO_FLAGS_READ_ONLY
	}
	content, err := os.OpenFile(file, mode, 0)
	if err != nil {
		return 0, fmt.Errorf("loop device: %w", err)
	}
	defer content.Close()
	config.Fd = uint32(content.Fd())
	copy(config.Info.File_name[:len(config.Info.File_name)-1], file) // for losetup; the kernel knows the whole
	for range attempts {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return 0, fmt.Errorf("loop device: none is free: %w", err)
		}
		d := Device(n)
		err = d.with(func(fd int) error { return unix.IoctlLoopConfigure(fd, &config) })
		switch {
		case err == nil:
			return d, nil
		case errors.Is(err, unix.EBUSY):
			continue
		}
		return 0, fmt.Errorf("loop device: %s for %s: %w", d, file, err)
	}
	return 0, fmt.Errorf("loop device: %d were taken by others: %w", attempts, unix.EBUSY)
}

// with opens the device. In a container /dev may lack those that were made since it was started.
func (d Device) with(f func(fd int) error) error {
	path := "/dev/" + d.String()
	dev, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if err = unix.Mknod(path, unix.S_IFBLK|0o600, d.rdev()); err == nil || errors.Is(err, fs.ErrExist) {
			dev, err = os.OpenFile(path, os.O_RDWR, 0)
		}
	}
	if errors.Is(err, unix.EROFS) || errors.Is(err, fs.ErrPermission) { // it is read-only
		dev, err = os.OpenFile(path, os.O_RDONLY, 0)
	}
	if err != nil {
		return err
	}
	defer dev.Close()
	return f(int(dev.Fd()))
}

func (d Device) rdev() int { return int(unix.Mkdev(major, uint32(d))) }

// CreateNode makes a device file of it at path, for root only; what was there before is replaced.
func (d Device) CreateNode(path string) error {
	next := path + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := unix.Mknod(next, unix.S_IFBLK|0o600, d.rdev()); err != nil {
		return &fs.PathError{Op: "mknod", Path: next, Err: err}
	}
	return os.Rename(next, path)
}

// Resize gives it the size that its file has by now. What is mounted there sees that at once.
func (d Device) Resize() error {
	err := d.with(func(fd int) error { return unix.IoctlSetInt(fd, unix.LOOP_SET_CAPACITY, 0) })
	if err != nil {
		return fmt.Errorf("%s: size: %w", d, err)
	}
	return nil
}

// Flush writes the kernel's dirty pages to the file: those of the device, and those of a file system mounted on it (Linux
// 6.7 and later).
func (d Device) Flush() error {
	err := d.with(func(fd int) error { return unix.IoctlSetInt(fd, unix.BLKFLSBUF, 0) })
	if err != nil {
		return fmt.Errorf("%s: flush: %w", d, err)
	}
	return nil
}
