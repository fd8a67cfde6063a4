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

// Options make the backend.
type Options struct {
	// ByIDDir is the VM's by-id folder.
	ByIDDir string
	// StateDir is where the backend keeps its mount table. It is the node's own, and lasts.
	StateDir string
	// Boot names this boot of the VM: what was mounted in another is not any more. Empty: mounts outlive boots.
	Boot string
	// Timeout is how long a disk, or its new size, is waited for; 0 for byid.Timeout.
	Timeout time.Duration
	// Bind publishes by bind mounts, for containers, which follow no link out of what they are shown: see [folder.CanBind]. A
	// volume that is detached is then seen until it is unpublished, or its machine restarts. Otherwise links do.
	Bind bool
	// NoBlock, when not empty, says why volumes cannot be used as raw devices. Without, a raw volume is published as a link
	// to a file of the disk's size.
	NoBlock string
	Logger  *slog.Logger
}

// New returns the backend. Error: the mount table cannot be read or written.
func New(o Options) (*folder.Backend, error) {
	var m folder.Mounter = folder.Links{}
	if o.Bind {
		m = folder.NewBinds()
	}
	return folder.New(folder.Options{
		Disks:   disks{byID: o.ByIDDir, timeout: cmp.Or(o.Timeout, byid.Timeout)},
		Mounter: m, Table: filepath.Join(o.StateDir, "mounts.json"), Boot: o.Boot, NoBlock: o.NoBlock,
		MountsForGroup: !o.Bind, // with links nobody is kept out of anything, and an unprivileged kubelet could not change owners
		Logger:         o.Logger,
	})
}

// disks are those that links in the by-id folder lead to.
type disks struct {
	byID    string
	timeout time.Duration
}

func (d disks) Find(ctx context.Context, _, uuid string) (string, error) {
	return byid.Wait(ctx, d.byID, uuid, d.timeout)
}

// Enlarged waits: the vCenter, which makes the disk larger, may have said so a moment before it is.
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
