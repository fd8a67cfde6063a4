package volumetest

import (
	"context"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Attach implements [volume.Store].
func (c *Cluster) Attach(ctx context.Context, id string, n volume.Node) (string, error) {
	if err := c.enter(ctx, "Attach"); err != nil {
		return "", err
	}
	d, fresh, err := c.attach(id, n)
	if err != nil {
		return "", err
	}
	if fresh && c.hooks.Attach != nil {
		if err := c.hooks.Attach(d); err != nil {
			return "", err
		}
	}
	return d.UUID, nil
}

func (c *Cluster) attach(id string, n volume.Node) (d Disk, fresh bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, err := c.entry(id)
	if err != nil {
		return d, false, err
	}
	at, err := c.node(n.ID)
	if err != nil {
		return d, false, err
	}
	disks := 0
	for _, other := range c.volumes {
		if other.on == at.ID {
			disks++
		}
	}
	switch {
	case e.on == at.ID:
		return e.disk(at.Node), false, nil
	case e.on != "":
		return d, false, fmt.Errorf("on node %s: %w", e.on, volume.ErrInUse)
	case disks >= names.MaxVolumes:
		return d, false, fmt.Errorf("%d disks: %w", disks, volume.ErrNoSlot)
	}
	e.on = at.ID
	return e.disk(at.Node), true, nil
}

// Detach implements [volume.Store].
func (c *Cluster) Detach(ctx context.Context, id string, n volume.Node) error {
	if err := c.enter(ctx, "Detach"); err != nil {
		return err
	}
	d, ok := c.detach(id, n)
	if ok && c.hooks.Detach != nil {
		return c.hooks.Detach(d)
	}
	return nil
}

func (c *Cluster) detach(id string, n volume.Node) (d Disk, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.volumes[id]
	if e == nil || e.on == "" || !same(e.on, n.ID) {
		return d, false
	}
	e.on = ""
	return e.disk(n), true
}

// Expand implements [volume.Store].
func (c *Cluster) Expand(ctx context.Context, id string, bytes int64) (int64, error) {
	if err := c.enter(ctx, "Expand"); err != nil {
		return 0, err
	}
	d, grown, err := c.expand(id, bytes)
	if err != nil {
		return 0, err
	}
	if grown && d.Node.ID != "" && c.hooks.Expand != nil {
		if err := c.hooks.Expand(d); err != nil {
			return 0, err
		}
	}
	return d.Capacity, nil
}

func (c *Cluster) expand(id string, bytes int64) (d Disk, grown bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, err := c.entry(id)
	if err != nil {
		return d, false, err
	}
	grown = bytes > e.Capacity
	if grown {
		if len(e.snapshots) > 0 {
			return d, false, fmt.Errorf("%d: %w", len(e.snapshots), volume.ErrSnapshots)
		}
		e.Capacity = bytes
	}
	var n node
	if e.on != "" {
		n, _ = c.node(e.on) // RemoveNode detaches
	}
	return e.disk(n.Node), grown, nil
}
