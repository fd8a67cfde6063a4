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

// Stage is as in node.Backend. A disk that was restored to a larger one than it comes from gets its file system grown.
func (b *backend) Stage(ctx context.Context, s node.Stage) error {
	dev, n, err := b.find(ctx, s.Disk)
	if err != nil || s.Use.Block {
		return err
	}
	switch m, is, err := at(s.Path); {
	case err != nil:
		return err
	case is && m.number != n:
		return fmt.Errorf("%s: another device is mounted there: %w", s.Path, volume.ErrExists)
	case is && m.fsType != s.Use.FSType:
		return fmt.Errorf("%s: is mounted there as %s: %w", s.Path, m.fsType, volume.ErrExists)
	case !is:
		if err := b.format(dev, s); err != nil {
			return err
		}
	}
	return b.grow(dev, s.Path) // a call before may have been killed between the two
}

// format mounts a disk, and before that makes a file system on one that is new.
func (b *backend) format(dev string, s node.Stage) error {
	has, err := b.mount.GetDiskFormat(dev)
	if err != nil {
		return err
	}
	if has != "" && has != s.Use.FSType {
		return fmt.Errorf("disk %s: has another file system: %s, not %s: %w", dev, has, s.Use.FSType, volume.ErrState)
	}
	if err := os.MkdirAll(s.Path, 0o750); err != nil {
		return err
	}
	flags := slices.Clone(s.Use.Flags)
	if s.Use.FSType == "xfs" {
		flags = append(flags, "nouuid") // a volume and one restored from its snapshot may be on one node
	}
	err = b.mount.FormatAndMount(dev, s.Path, s.Use.FSType, flags)
	if bad := (mount.MountError{}); errors.As(err, &bad) && bad.Type == mount.FilesystemMismatch {
		return fmt.Errorf("%w: %w", err, volume.ErrState)
	}
	return err
}

// grow makes the file system as large as its disk, if it is not.
func (b *backend) grow(dev, path string) error {
	r := mount.NewResizeFs(exec.New())
	need, err := r.NeedResize(dev, path)
	if err != nil || !need {
		return err
	}
	_, err = r.Resize(dev, path)
	return err
}

// Unstage is as in node.Backend.
func (b *backend) Unstage(_ context.Context, _, path string) error { return b.unmount(path) }
