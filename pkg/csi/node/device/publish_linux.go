package device

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

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
	if p.Alone {
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
	return b.bind(p.Staging, p)
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
	return b.bind(dev, p)
}

func (b *backend) bind(source string, p node.Publish) error {
	options := []string{"bind"}
	if p.ReadOnly {
		options = append(options, "ro")
	}
	return b.mount.Mount(source, p.Path, "", options)
}

// Unpublish implements node.Backend.
func (b *backend) Unpublish(_ context.Context, _, path string) error {
	if err := b.unmount(path); err != nil {
		return err
	}
	return remove(path)
}
