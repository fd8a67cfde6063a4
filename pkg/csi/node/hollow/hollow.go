package hollow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/byid"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/folder"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Options configure the backend.
type Options struct {
	// ByIDDir is the VM's by-id directory.
	ByIDDir string
	// StateDir is the directory of the mount table. It must be per node and persistent.
	StateDir string
	// Boot identifies this boot of the VM: mounts of another boot are discarded. Empty: mounts survive a reboot.
	Boot string
	// Timeout is how long to wait for a disk, or for its new size; byid.Timeout when zero.
	Timeout time.Duration
	// Bind publishes with bind mounts, for containers, which cannot follow symlinks to the outside: see [folder.CanBind]. Then a
	// detached volume stays visible until it is unpublished, or its node restarts. Otherwise symlinks are used.
	Bind bool
	// NoBlock, if not empty, is the reason why volumes cannot be used as raw devices. Otherwise a raw volume is published as a
	// symlink to a file of the disk's size.
	NoBlock string
	Logger  *slog.Logger
}

// New returns the backend. It returns an error if the mount table cannot be read or written.
func New(o Options) (*folder.Backend, error) {
	var m folder.Mounter = folder.Links{}
	if o.Bind {
		m = folder.NewBinds()
	}
	return folder.New(folder.Options{
		Disks:   disks{byID: o.ByIDDir, timeout: cmp.Or(o.Timeout, byid.Timeout)},
		Mounter: m, Table: filepath.Join(o.StateDir, "mounts.json"), Boot: o.Boot, NoBlock: o.NoBlock,
		Share:          func(export string) (string, error) { return share(o.ByIDDir, export) },
		MountsForGroup: !o.Bind, // symlinks restrict no user, and an unprivileged kubelet cannot change owners
		Logger:         o.Logger,
	})
}

// share returns the directory with the content of an export of a simulated vCenter.
func share(byID, export string) (string, error) {
	dir, ok := disk.ShareDir(filepath.Join(byID, disk.SharesLink), export)
	if !ok {
		return "", fmt.Errorf("file volume: %s is not an export of a simulated vCenter: %w", export, volume.ErrNotSupported)
	}
	return dir, nil
}

// disks are the targets of the symlinks in the by-id directory.
type disks struct {
	byID    string
	timeout time.Duration
}

func (d disks) Find(ctx context.Context, _, uuid string) (string, error) {
	return byid.Wait(ctx, d.byID, uuid, d.timeout)
}

// Enlarged waits, because the vCenter may report the new size just before it takes effect.
func (d disks) Enlarged(ctx context.Context, dir string, bytes int64) error {
	var is int64
	err := byid.Until(ctx, dir, d.timeout, func() (bool, error) {
		var err error
		is, err = disk.Size(dir)
		return is >= bytes, err
	})
	if errors.Is(err, byid.ErrTimeout) {
		return fmt.Errorf("disk has %d bytes, not the %d required: %w", is, bytes, volume.ErrUnavailable)
	}
	return err
}
