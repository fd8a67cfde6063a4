package volumetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

var _ volume.Store = (*Cluster)(nil)

// Create implements [volume.Store]: on the datastore with the most room.
func (c *Cluster) Create(ctx context.Context, s volume.Spec) (volume.Volume, error) {
	if err := c.enter(ctx, "Create"); err != nil {
		return volume.Volume{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.volumes {
		if e.Name != s.Name {
			continue
		}
		if e.Capacity != s.Capacity || e.source != s.Snapshot {
			return volume.Volume{}, fmt.Errorf("volume %s named %q has %d bytes: %w", e.ID, s.Name, e.Capacity, volume.ErrExists)
		}
		return e.Volume, nil
	}
	if of := s.Snapshot; of.Volume != "" && c.find(of) == nil {
		return volume.Volume{}, fmt.Errorf("snapshot %s of volume %s: %w", of.Snapshot, of.Volume, volume.ErrNotFound)
	}
	var best *volume.Datastore
	for i, d := range c.datastores {
		for _, allowed := range s.Datastores {
			if d.VCenter == allowed.VCenter && d.Ref == allowed.Ref && (best == nil || d.Free > best.Free) {
				best = &c.datastores[i]
			}
		}
	}
	switch {
	case best == nil:
		return volume.Volume{}, volume.ErrNoDatastore
	case best.Free < s.Capacity:
		return volume.Volume{}, fmt.Errorf("%d bytes free: %w", best.Free, volume.ErrNoSpace)
	}
	best.Free -= s.Capacity
	c.made++
	e := &entry{
		Volume: volume.Volume{
			ID: fmt.Sprintf("00000000-0000-4000-8000-%012x", c.made), Name: s.Name, VCenter: best.VCenter, Capacity: s.Capacity,
			DatastoreURL: best.URL, Policy: s.Policy, Healthy: true,
		},
		uuid: fmt.Sprintf("6000C290-0000-0000-0000-%012X", c.made), metadata: s.Metadata, source: s.Snapshot,
	}
	c.volumes[e.ID] = e
	return e.Volume, nil
}

// Delete implements [volume.Store].
func (c *Cluster) Delete(ctx context.Context, id string) error {
	if err := c.enter(ctx, "Delete"); err != nil {
		return err
	}
	if err := c.remove(id); err != nil || c.hooks.Delete == nil {
		return err
	}
	return c.hooks.Delete(id)
}

func (c *Cluster) remove(id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.volumes[id]
	switch {
	case e == nil:
		return nil
	case e.on != "":
		return fmt.Errorf("on node %s: %w", e.on, volume.ErrInUse)
	case len(e.snapshots) > 0:
		return fmt.Errorf("%d: %w", len(e.snapshots), volume.ErrSnapshots)
	}
	delete(c.volumes, id)
	for i, d := range c.datastores {
		if d.VCenter == e.VCenter && d.URL == e.DatastoreURL {
			c.datastores[i].Free += e.Capacity
		}
	}
	return nil
}

// Volume implements [volume.Store].
func (c *Cluster) Volume(ctx context.Context, id string) (volume.Volume, error) {
	if err := c.enter(ctx, "Volume"); err != nil {
		return volume.Volume{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, err := c.entry(id)
	if err != nil {
		return volume.Volume{}, err
	}
	return e.Volume, nil
}

// entry is called with the lock held.
func (c *Cluster) entry(id string) (*entry, error) {
	if e := c.volumes[id]; e != nil {
		return e, nil
	}
	return nil, fmt.Errorf("volume %s: %w", id, volume.ErrNotFound)
}

// Volumes implements [volume.Store].
func (c *Cluster) Volumes(ctx context.Context) ([]volume.Volume, []volume.Attached, error) {
	if err := c.enter(ctx, "Volumes"); err != nil {
		return nil, nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []volume.Volume
	var attached []volume.Attached
	for _, id := range slices.Sorted(maps.Keys(c.volumes)) {
		e := c.volumes[id]
		all = append(all, e.Volume)
		if e.on != "" {
			n, _ := c.node(e.on) // RemoveNode detaches
			attached = append(attached, volume.Attached{Volume: id, Node: n.Node, DiskUUID: names.Compact(e.uuid)})
		}
	}
	return all, attached, nil
}

// Attachments implements [volume.Store].
func (c *Cluster) Attachments(ctx context.Context, id string) ([]volume.Attached, error) {
	if err := c.enter(ctx, "Attachments"); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, err := c.entry(id)
	if err != nil || e.on == "" {
		return nil, err
	}
	n, _ := c.node(e.on) // RemoveNode detaches
	return []volume.Attached{{Volume: id, Node: n.Node, DiskUUID: names.Compact(e.uuid)}}, nil
}

// SetMetadata implements [volume.Store].
func (c *Cluster) SetMetadata(ctx context.Context, id string, m volume.Metadata) error {
	if err := c.enter(ctx, "SetMetadata"); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, err := c.entry(id)
	if err != nil {
		return err
	}
	e.metadata = m
	return nil
}

// same compares ids as vCenters do.
func same(a, b string) bool { return strings.EqualFold(a, b) }
