package volumetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

var _ volume.Store = (*Cluster)(nil)

// Create implements [volume.Store]. It selects the datastore with the most free space.
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
	if s.Share {
		e.Export = "files.example:/vsanfs/" + e.ID
		e.ID = "file:" + e.ID
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

// same compares ids as vCenters do.
func same(a, b string) bool { return strings.EqualFold(a, b) }

// Fail makes the next call of a method, given by name, fail with the error; several calls of Fail affect as many calls.
func (c *Cluster) Fail(method string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults[method] = append(c.faults[method], err)
}

// Hold blocks calls of a method until release is called, which may be repeated, or their context ends.
func (c *Cluster) Hold(method string) (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	hold := make(chan struct{})
	c.holds[method] = hold
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.holds[method] == hold {
			delete(c.holds, method)
			close(hold)
		}
	}
}

// Calls returns how often a method has been called, including blocked calls.
func (c *Cluster) Calls(method string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[method]
}

// enter starts every method: it applies Fail, Hold and the end of the context.
func (c *Cluster) enter(ctx context.Context, method string) error {
	c.mu.Lock()
	c.calls[method]++
	hold := c.holds[method]
	var err error
	if all := c.faults[method]; len(all) > 0 {
		err, c.faults[method] = all[0], all[1:]
	}
	c.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

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
