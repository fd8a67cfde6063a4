package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	cnsmethods "github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Snapshot implements [volume.Store]. The name is the snapshot's description in CNS, by which a retry finds it.
func (s *Store) Snapshot(ctx context.Context, id, name string) (snap volume.Snapshot, err error) {
	defer s.observe("", "snapshot", time.Now(), &err)
	if id == "" || name == "" {
		return snap, fmt.Errorf("snapshot %q of volume %q: %w: empty name", name, id, volume.ErrInvalid)
	}
	what := fmt.Sprintf("take snapshot %q of volume %s", name, id)
	return join(ctx, s, id, what, func(ctx context.Context) (snap volume.Snapshot, err error) {
		err = s.atVCenterOf(ctx, id, func(c *conn) (err error) {
			defer wrapError(c, &err, "%s", what)
			snap, err = s.snapshot(ctx, c, id, name)
			return err
		})
		return snap, err
	})
}

func (s *Store) snapshot(ctx context.Context, c *conn, id, name string) (volume.Snapshot, error) {
	key := fmt.Sprintf("snapshot %q of %s", name, id)
	if err := s.finish(ctx, key); err != nil {
		return volume.Snapshot{}, err
	}
	v, err := c.volume(ctx, id)
	if err != nil {
		return volume.Snapshot{}, err
	}
	taken, err := c.snapshots(ctx, volume.SnapshotRef{Volume: id})
	if err != nil {
		return volume.Snapshot{}, err
	}
	for _, t := range taken {
		if t.Description == name {
			s.attempts.remove(key)
			return c.snapshotOf(v, t), nil
		}
	}
	if limit := int(s.limit.Load()); len(taken) >= limit {
		return volume.Snapshot{}, fmt.Errorf("%w: it has %d snapshots of at most %d", volume.ErrLimit, len(taken), limit)
	}
	a := attempt{vcenter: c.name()}
	result, err := c.operate(ctx, func(ctx context.Context, svc *services) (ref, error) {
		res, err := cnsmethods.CnsCreateSnapshots(ctx, svc.cns, &cnstypes.CnsCreateSnapshots{
			This: manager(), SnapshotSpecs: []cnstypes.CnsSnapshotCreateSpec{{VolumeId: volumeID(id), Description: name}},
		})
		if err != nil {
			return ref{}, err
		}
		a.task = res.Returnval
		return a.task, nil
	})
	s.attempts.end(key, a, err)
	if err != nil {
		return volume.Snapshot{}, err
	}
	created, ok := result.(*cnstypes.CnsSnapshotCreateResult)
	if !ok {
		return volume.Snapshot{}, errNoResult
	}
	if created.Snapshot.Description == "" {
		created.Snapshot.Description = name
	}
	return c.snapshotOf(v, created.Snapshot), nil
}

// snapshotOf converts a CNS snapshot. A volume with snapshots cannot be expanded, so the sizes are the same.
func (c *conn) snapshotOf(v volume.Volume, t cnstypes.CnsSnapshot) volume.Snapshot {
	return volume.Snapshot{
		SnapshotRef: volume.SnapshotRef{Volume: v.ID, Snapshot: t.SnapshotId.Id},
		VCenter:     c.name(), Description: t.Description, Created: t.CreateTime, Capacity: v.Capacity,
	}
}

// DeleteSnapshot implements [volume.Store].
func (s *Store) DeleteSnapshot(ctx context.Context, of volume.SnapshotRef) (err error) {
	defer s.observe("", "delete-snapshot", time.Now(), &err)
	if of.Volume == "" || of.Snapshot == "" {
		return fmt.Errorf("delete snapshot %q of volume %q: %w: empty id", of.Snapshot, of.Volume, volume.ErrInvalid)
	}
	what := fmt.Sprintf("delete snapshot %s of volume %s", of.Snapshot, of.Volume)
	_, err = join(ctx, s, of.Volume, what, func(ctx context.Context) (none struct{}, err error) {
		err = s.atVCenterOf(ctx, of.Volume, func(c *conn) (err error) {
			defer wrapError(c, &err, "%s", what)
			return c.deleteSnapshot(ctx, of)
		})
		if errors.Is(err, volume.ErrNotFound) {
			err = nil
		}
		return none, err
	})
	return err
}

func (c *conn) deleteSnapshot(ctx context.Context, of volume.SnapshotRef) error {
	_, err := c.operate(ctx, func(ctx context.Context, s *services) (ref, error) {
		res, err := cnsmethods.CnsDeleteSnapshots(ctx, s.cns, &cnstypes.CnsDeleteSnapshots{
			This: manager(), SnapshotDeleteSpecs: []cnstypes.CnsSnapshotDeleteSpec{{
				VolumeId: volumeID(of.Volume), SnapshotId: cnstypes.CnsSnapshotId{Id: of.Snapshot},
			}},
		})
		if err != nil {
			return ref{}, err
		}
		return res.Returnval, nil
	})
	var f *faultError
	if errors.As(err, &f) && f.kind == nil { // some vCenters have an unspecific fault for a missing snapshot
		if left, listErr := c.snapshots(ctx, of); listErr == nil && len(left) == 0 {
			return nil
		}
	}
	return err
}

// Snapshots implements [volume.Store]. Without a volume it returns those of this cluster's volumes.
func (s *Store) Snapshots(ctx context.Context, of volume.SnapshotRef) (found []volume.Snapshot, err error) {
	defer s.observe("", "snapshots", time.Now(), &err)
	if of.Volume == "" {
		lists, errs := each(s.conns(), func(c *conn) ([]volume.Snapshot, error) { return s.allSnapshots(ctx, c) })
		found, err = slices.Concat(lists...), errors.Join(errs...)
	} else {
		err = s.atVCenterOf(ctx, of.Volume, func(c *conn) (err error) {
			found, err = c.snapshotsOf(ctx, of)
			return err
		})
		if errors.Is(err, volume.ErrNotFound) {
			err = nil
		}
	}
	slices.SortFunc(found, func(a, b volume.Snapshot) int {
		return cmp.Or(cmp.Compare(a.Volume, b.Volume), cmp.Compare(a.Snapshot, b.Snapshot))
	})
	return found, err
}

// snapshotsOf returns the snapshots of one volume, or one of them.
func (c *conn) snapshotsOf(ctx context.Context, of volume.SnapshotRef) (found []volume.Snapshot, err error) {
	v, err := c.volume(ctx, of.Volume)
	if err != nil {
		return nil, err
	}
	defer wrapError(c, &err, "list snapshots of volume %s", of.Volume)
	taken, err := c.snapshots(ctx, of)
	for _, t := range taken {
		found = append(found, c.snapshotOf(v, t))
	}
	return found, err
}

// allSnapshots returns the snapshots of the cluster's volumes in one vCenter.
func (s *Store) allSnapshots(ctx context.Context, c *conn) (found []volume.Snapshot, err error) {
	defer wrapError(c, &err, "list snapshots")
	volumes, err := c.query(ctx, cnstypes.CnsQueryFilter{ContainerClusterIds: []string{s.opts.Cluster.ID}})
	if err != nil {
		return nil, err
	}
	by := map[string]volume.Volume{}
	for _, v := range volumes {
		by[v.VolumeId.Id] = c.toVolume(v)
	}
	if len(by) == 0 {
		return nil, nil
	}
	taken, err := c.snapshots(ctx, volume.SnapshotRef{})
	for _, t := range taken {
		if v, ok := by[t.VolumeId.Id]; ok {
			found = append(found, c.snapshotOf(v, t))
		}
	}
	return found, err
}

// snapshots queries all pages of the snapshots of a volume, one of them, or all snapshots. A missing volume has none.
func (c *conn) snapshots(ctx context.Context, of volume.SnapshotRef) ([]cnstypes.CnsSnapshot, error) {
	filter := cnstypes.CnsSnapshotQueryFilter{}
	if of.Volume != "" {
		spec := cnstypes.CnsSnapshotQuerySpec{VolumeId: volumeID(of.Volume)}
		if of.Snapshot != "" {
			spec.SnapshotId = &cnstypes.CnsSnapshotId{Id: of.Snapshot}
		}
		filter.SnapshotQuerySpecs = []cnstypes.CnsSnapshotQuerySpec{spec}
	}
	var found []cnstypes.CnsSnapshot
	for offset := int64(0); ; {
		filter.Cursor = &cnstypes.CnsCursor{Offset: offset, Limit: int64(c.opts.Page)}
		info, err := c.run(ctx, func(ctx context.Context, s *services) (ref, error) {
			res, err := cnsmethods.CnsQuerySnapshots(ctx, s.cns, &cnstypes.CnsQuerySnapshots{This: manager(), SnapshotQueryFilter: filter})
			if err != nil {
				return ref{}, err
			}
			return res.Returnval, nil
		})
		if errors.Is(err, volume.ErrNotFound) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		page, ok := info.Result.(cnstypes.CnsSnapshotQueryResult)
		if !ok {
			return nil, errNoResult
		}
		for _, e := range page.Entries {
			if f := fromResult(e.Error); f == nil {
				found = append(found, e.Snapshot)
			} else if !errors.Is(f, volume.ErrNotFound) {
				return nil, f
			}
		}
		next := page.Cursor.Offset
		if len(page.Entries) == 0 || next <= offset || next >= page.Cursor.TotalRecords {
			return found, nil
		}
		offset = next
	}
}
