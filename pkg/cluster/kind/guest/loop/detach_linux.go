package loop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// look and maxLook bound the interval at which a device that must end is polled.
const (
	look    = 2 * time.Millisecond
	maxLook = 100 * time.Millisecond
)

// Detach ends the device, after the devices that were made of it: a kubelet makes one of each raw volume. It waits at
// most patience for a device that is still open, such as a mounted one: a killed container takes a moment to unmount and
// to write its data.
//
// After that the device is pinned: it is severed from its file, so that every write fails as on a removed disk, and the
// kernel ends it at the last close. A device that does not exist any more is no error.
func (d Device) Detach(ctx context.Context, patience time.Duration) (pinned bool, err error) {
	info, err := d.status()
	switch {
	case err != nil && unbound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("%s: %w", d, err)
	case info.Sizelimit == severed:
		return true, nil // by an earlier call, and still open
	}
	if err := d.endUpper(ctx); err != nil {
		return false, err
	}
	of := fileOf(info)
	if err := d.clear(of); err != nil {
		return false, err
	}
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	pause := look
	next := time.NewTimer(pause)
	defer next.Stop()
	for {
		is, err := d.bound(of)
		if err != nil || !is {
			return false, err
		}
		select {
		case <-next.C:
			pause = min(2*pause, maxLook)
			next.Reset(pause)
		case <-ctx.Done():
			return false, fmt.Errorf("%s is in use: %w", d, ctx.Err())
		case <-deadline.C:
			return true, d.sever(of)
		}
	}
}

// backing identifies the file of a device. The number of a device that has ended may be reused, so every operation
// compares the file first.
type backing struct{ device, inode uint64 }

func fileOf(info *unix.LoopInfo64) backing { return backing{info.Device, info.Inode} }

// mine returns the status of an open device if it has that file, and ENXIO if it has ended or its number was reused.
func mine(fd int, of backing) (*unix.LoopInfo64, error) {
	info, err := unix.IoctlLoopGetStatus64(fd)
	if err == nil && fileOf(info) != of {
		err = unix.ENXIO
	}
	return info, err
}

// clear ends the device of a file, at once or, if it is open, at the last close.
func (d Device) clear(of backing) error {
	err := d.with(func(fd int) error {
		if _, err := mine(fd, of); err != nil {
			return err
		}
		return unix.IoctlSetInt(fd, unix.LOOP_CLR_FD, 0)
	})
	if err != nil && !unbound(err) {
		return fmt.Errorf("%s: detach: %w", d, err)
	}
	return nil
}

// bound reports whether the device still has that file.
func (d Device) bound(of backing) (bool, error) {
	err := d.with(func(fd int) error {
		_, err := mine(fd, of)
		return err
	})
	switch {
	case err == nil:
		return true, nil
	case unbound(err):
		return false, nil
	}
	return false, fmt.Errorf("%s: %w", d, err)
}

// unbound reports whether err means that a device has no file, or does not exist.
func unbound(err error) bool { return errors.Is(err, unix.ENXIO) || errors.Is(err, unix.ENODEV) }

func (d Device) status() (info *unix.LoopInfo64, err error) {
	err = d.with(func(fd int) error {
		info, err = unix.IoctlLoopGetStatus64(fd)
		return err
	})
	return info, err
}

// severed is the size of a device that was, one sector: no block of a file system fits into that, and every write is refused.
const severed = 512

// sever removes the file from a device that another process has open.
func (d Device) sever(of backing) error {
	err := d.with(func(fd int) error {
		info, err := mine(fd, of)
		if err != nil {
			return err
		}
		_ = unix.IoctlSetInt(fd, unix.BLKFLSBUF, 0) // what cannot be written is lost, as with a disk that is pulled out
		info.Sizelimit = severed
		info.Flags |= unix.LO_FLAGS_AUTOCLEAR
		return unix.IoctlLoopSetStatus64(fd, info)
	})
	if err != nil && !unbound(err) {
		return fmt.Errorf("%s is in use, and cannot be cut off: %w", d, err)
	}
	return nil
}

// endUpper ends the devices whose file is this device.
func (d Device) endUpper(ctx context.Context) error {
	all, err := List()
	if err != nil {
		return err
	}
	for _, b := range all {
		if b.Device == d {
			continue
		}
		info, err := b.Device.status()
		if err != nil || info.Rdevice != uint64(d.rdev()) || info.Rdevice == 0 {
			continue // it ended, or its number was reused
		}
		if _, err := b.Device.Detach(ctx, 0); err != nil {
			return err
		}
	}
	return nil
}
