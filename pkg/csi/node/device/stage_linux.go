package device

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/mount-utils"
	"k8s.io/utils/exec"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/capability"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
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
	if err != nil && capability.Withheld(capability.SysResource) {
		err = fmt.Errorf("%w: the kernel makes a mounted ext4 file system larger only with %s, which this machine withholds", err, capability.SysResource)
	}
	return err
}

// Unstage implements node.Backend.
func (b *backend) Unstage(_ context.Context, _, path string) error { return b.unmount(path) }

// Publish implements node.Backend.
func (b *backend) Publish(ctx context.Context, p node.Publish) error {
	if p.Use.Block {
		return b.publishBlock(ctx, p)
	}
	s, is, err := mountAt(p.Staging)
	switch {
	case err != nil:
		return err
	case !is:
		return fmt.Errorf("not staged at %s: %w", p.Staging, volume.ErrState)
	}
	m, is, err := mountAt(p.Path)
	switch {
	case err != nil:
		return err
	case is && (m.number != s.number || m.readOnly != (p.ReadOnly || s.readOnly)):
		return fmt.Errorf("%s: another mount is there: %w", p.Path, volume.ErrExists)
	case is:
		return nil
	}
	if p.Exclusive {
		paths, err := otherMounts(s.number, p.Staging, p.Path)
		if err == nil && len(paths) > 0 {
			err = fmt.Errorf("already published at %s, and the volume allows only one path: %w", paths[0], volume.ErrInUse)
		}
		if err != nil {
			return err
		}
	}
	if err := os.MkdirAll(p.Path, 0o750); err != nil {
		return err
	}
	return b.bind(p.Staging, p.Path, p.ReadOnly)
}

// publishBlock bind-mounts the device file. An existing mount is recognized by the device's number, because the mount table shows
// the file system of /dev.
func (b *backend) publishBlock(ctx context.Context, p node.Publish) error {
	dev, n, err := b.find(ctx, p.Disk)
	if err != nil {
		return err
	}
	if is, err := numberOf(p.Path); err == nil {
		if is != n {
			return fmt.Errorf("%s: another device is at the path: %w", p.Path, volume.ErrExists)
		}
		return nil
	} else if !errors.Is(err, volume.ErrNotFound) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(p.Path), 0o750); err != nil {
		return err
	}
	f, err := os.OpenFile(p.Path, os.O_CREATE|os.O_RDONLY, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return err
	}
	return b.bind(dev, p.Path, p.ReadOnly)
}

func (b *backend) bind(source, target string, readOnly bool) error {
	options := []string{"bind"}
	if readOnly {
		options = append(options, "ro")
	}
	return b.mount.Mount(source, target, "", options)
}

// PublishShare implements node.Backend, with the NFS client of the node. A simulated vCenter serves no NFS: its shares are
// directories, which [disk.SharesLink] leads to.
func (b *backend) PublishShare(_ context.Context, p node.PublishShare) error {
	if _, is, err := mountAt(p.Path); err != nil || is {
		return err
	}
	if err := os.MkdirAll(p.Path, 0o750); err != nil {
		return err
	}
	if dir, simulated := disk.ShareDir(filepath.Join(b.opts.ByIDDir, disk.SharesLink), p.Export); simulated {
		d, err := disk.Open(dir)
		if err != nil {
			return fmt.Errorf("%s: no such export: %w: %w", p.Export, err, volume.ErrNotFound)
		}
		return b.bind(d.Data(), p.Path, p.ReadOnly)
	}
	options := slices.Clone(p.Flags)
	if p.ReadOnly {
		options = append(options, "ro")
	}
	return b.mount.Mount(p.Export, p.Path, "nfs4", options)
}

// Unpublish implements node.Backend.
func (b *backend) Unpublish(_ context.Context, _, path string) error {
	if err := b.unmount(path); err != nil {
		return err
	}
	return remove(path)
}
