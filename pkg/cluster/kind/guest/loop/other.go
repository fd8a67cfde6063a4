//go:build !linux

package loop

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// Device is a loop device by its number.
type Device int

// Bound is a device and its file.
type Bound struct {
	Device Device
	File   string
}

func none() error {
	return fmt.Errorf("files cannot be disks on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// Attach fails: this platform has no loop devices. So do CreateNode, Resize, Flush and Probe.
func Attach(string, bool) (Device, error) { return 0, none() }

// Probe fails.
func Probe(string) error { return none() }

// String returns its name.
func (d Device) String() string { return fmt.Sprintf("loop%d", int(d)) }

// CreateNode fails.
func (d Device) CreateNode(string) error { return none() }

// Resize fails.
func (d Device) Resize() error { return none() }

// Flush fails.
func (d Device) Flush() error { return none() }

// Detach has nothing to do.
func (d Device) Detach(context.Context, time.Duration) (bool, error) { return false, nil }

// List returns none.
func List() ([]Bound, error) { return nil, nil }

// ByFile returns none.
func ByFile(string) ([]Device, error) { return nil, nil }

// Reap has nothing to do.
func Reap(context.Context, string, time.Duration) (ended, pinned int, _ error) { return 0, 0, nil }
