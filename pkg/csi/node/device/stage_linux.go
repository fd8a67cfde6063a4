package device

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"k8s.io/mount-utils"
	"k8s.io/utils/exec"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Stage implements node.Backend. It grows the file system if the disk is larger, as when a snapshot was restored to a larger disk.
func (b *backend) Stage(ctx context.Context, s node.Stage) error {
	dev, n, err := b.find(ctx, s.Disk)
	if err != nil || s.Use.Block {
		return err
	}
	switch m, is, err := mountAt(s.Path); {
	case err != nil:
		return err
	case is && m.number != n:
		return fmt.Errorf("%s: another device is mounted there: %w", s.Path, volume.ErrExists)
	case is && m.fsType != s.Use.FSType:
		return fmt.Errorf("%s: already mounted with file system %s: %w", s.Path, m.fsType, volume.ErrExists)
	case !is:
		if err := b.format(dev, s); err != nil {
			return err
		}
	}
	return b.grow(dev, s.Path) // an earlier call may have been killed before it
}

// format formats a new disk, and mounts it.
func (b *backend) format(dev string, s node.Stage) error {
	has, err := b.mount.GetDiskFormat(dev)
	if err != nil {
		return err
	}
	if has != "" && has != s.Use.FSType {
		return fmt.Errorf("disk %s: the file system is %s, not %s: %w", dev, has, s.Use.FSType, volume.ErrState)
	}
	if err := os.MkdirAll(s.Path, 0o750); err != nil {
		return err
	}
	flags := slices.Clone(s.Use.Flags)
	if s.Use.FSType == "xfs" {
		flags = append(flags, "nouuid") // a node may have a volume and another one that was restored from its snapshot
	}
	err = b.mount.FormatAndMount(dev, s.Path, s.Use.FSType, flags)
	if bad := (mount.MountError{}); errors.As(err, &bad) && bad.Type == mount.FilesystemMismatch {
		return fmt.Errorf("%w: %w", err, volume.ErrState)
	}
	return err
}

// grow grows the file system to the size of its disk, if needed.
func (b *backend) grow(dev, path string) error {
	r := mount.NewResizeFs(exec.New())
	need, err := r.NeedResize(dev, path)
	if err != nil || !need {
		return err
	}
	_, err = r.Resize(dev, path)
	return err
}

// Unstage implements node.Backend.
func (b *backend) Unstage(_ context.Context, _, path string) error { return b.unmount(path) }
