package folder

import (
	"context"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Publish is as in node.Backend.
func (b *Backend) Publish(_ context.Context, p node.Publish) error {
	s, ok := b.staged(p.Staging)
	switch {
	case !ok || s.Volume != p.Volume:
		return fmt.Errorf("not staged at %s: %w", p.Staging, volume.ErrState)
	case s.Block != p.Use.Block || s.FSType != p.Use.FSType:
		return fmt.Errorf("staged as %s: %w", s.kind(), volume.ErrState)
	}
	want := published{Volume: p.Volume, Dir: s.Dir, Block: s.Block, ReadOnly: p.ReadOnly, Alone: p.Alone}
	if is, ok := b.published(p.Path); ok {
		if is != want {
			return fmt.Errorf("%s: volume %s is published there in another way: %w", p.Path, is.Volume, volume.ErrExists)
		}
		// It may have been written down by a service that was killed before it was done.
		if mounted, err := b.opts.Mounter.Mounted(p.Path); err != nil || mounted {
			return err
		}
	} else if other, is := b.elsewhere(p); is {
		return fmt.Errorf("published at %s already, to one user only: %w", other, volume.ErrInUse)
	}
	d, err := disk.Open(s.Dir)
	if err != nil {
		return fmt.Errorf("disk is not attached to node any more: %w: %w", err, volume.ErrNotFound)
	}
	source := d.Data()
	if s.Block {
		if source, err = d.Block(); err != nil {
			return err
		}
	}
	if err := b.change(func(t *table) { t.Published[p.Path] = want }); err != nil {
		return err
	}
	return b.opts.Mounter.Mount(source, p.Path, p.ReadOnly)
}

// elsewhere finds another path that a volume for one user only is published at.
func (b *Backend) elsewhere(p node.Publish) (path string, is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for path, o := range b.table.Published {
		if o.Volume != p.Volume || path == p.Path || !o.Alone && !p.Alone {
			continue
		}
		// A machine that lost power has lost its mounts, and nobody unpublishes what is not there.
		if mounted, err := b.opts.Mounter.Mounted(path); mounted || err != nil {
			return path, true
		}
	}
	return "", false
}

// Unpublish is as in node.Backend. What another volume has there stays.
func (b *Backend) Unpublish(_ context.Context, vol, path string) error {
	is, ok := b.published(path)
	if ok && is.Volume != vol {
		return nil
	}
	if err := b.opts.Mounter.Unmount(path); err != nil {
		return err
	}
	if !ok {
		return nil
	}
	return b.change(func(t *table) { delete(t.Published, path) })
}
