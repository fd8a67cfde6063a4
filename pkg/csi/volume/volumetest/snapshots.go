package volumetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Snapshot implements [volume.Store].
func (c *Cluster) Snapshot(ctx context.Context, id, name string) (volume.Snapshot, error) {
	if err := c.enter(ctx, "Snapshot"); err != nil {
		return volume.Snapshot{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, err := c.entry(id)
	if err != nil {
		return volume.Snapshot{}, err
	}
	for _, s := range e.snapshots {
		if s.Description == name {
			return s, nil
		}
	}
	if len(e.snapshots) >= MaxSnapshots {
		return volume.Snapshot{}, fmt.Errorf("%d snapshots: %w", len(e.snapshots), volume.ErrLimit)
	}
	c.made++
	c.now = c.now.Add(time.Second)
	s := volume.Snapshot{
		SnapshotRef: volume.SnapshotRef{Volume: id, Snapshot: fmt.Sprintf("11111111-0000-4000-8000-%012x", c.made)},
		VCenter:     e.VCenter, Description: name, Created: c.now, Capacity: e.Capacity,
	}
	e.snapshots = append(e.snapshots, s)
	return s, nil
}

// DeleteSnapshot implements [volume.Store].
func (c *Cluster) DeleteSnapshot(ctx context.Context, ref volume.SnapshotRef) error {
	if err := c.enter(ctx, "DeleteSnapshot"); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.volumes[ref.Volume]; e != nil {
		e.snapshots = slices.DeleteFunc(e.snapshots, func(s volume.Snapshot) bool { return s.SnapshotRef == ref })
	}
	return nil
}

// Snapshots implements [volume.Store].
func (c *Cluster) Snapshots(ctx context.Context, of volume.SnapshotRef) ([]volume.Snapshot, error) {
	if err := c.enter(ctx, "Snapshots"); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []volume.Snapshot
	for _, id := range slices.Sorted(maps.Keys(c.volumes)) {
		for _, s := range c.volumes[id].snapshots {
			if (of.Volume == "" || of.Volume == id) && (of.Snapshot == "" || of.Snapshot == s.Snapshot) {
				all = append(all, s)
			}
		}
	}
	slices.SortFunc(all, func(a, b volume.Snapshot) int {
		return strings.Compare(a.Volume+"+"+a.Snapshot, b.Volume+"+"+b.Snapshot)
	})
	return all, nil
}

// find is called with the lock held.
func (c *Cluster) find(ref volume.SnapshotRef) *volume.Snapshot {
	e := c.volumes[ref.Volume]
	if e == nil {
		return nil
	}
	for i, s := range e.snapshots {
		if s.SnapshotRef == ref {
			return &e.snapshots[i]
		}
	}
	return nil
}
