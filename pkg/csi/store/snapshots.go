package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	cnsmethods "github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Snapshots implements [volume.Store]. Of all volumes it means those of this cluster.
func (s *Store) Snapshots(ctx context.Context, of volume.SnapshotRef) (found []volume.Snapshot, err error) {
	defer s.observe("", "snapshots", time.Now(), &err)
	if of.Volume == "" {
		lists, errs := each(s.conns(), func(c *conn) ([]volume.Snapshot, error) { return s.allSnapshots(ctx, c) })
		found, err = slices.Concat(lists...), errors.Join(errs...)
	} else {
		err = s.at(ctx, of.Volume, func(c *conn) (err error) {
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

// snapshotsOf returns those of one volume, or one of them.
func (c *conn) snapshotsOf(ctx context.Context, of volume.SnapshotRef) (found []volume.Snapshot, err error) {
	v, err := c.volume(ctx, of.Volume)
	if err != nil {
		return nil, err
	}
	defer about(c, &err, "list snapshots of volume %s", of.Volume)
	taken, err := c.snapshots(ctx, of)
	for _, t := range taken {
		found = append(found, c.snapshotOf(v, t))
	}
	return found, err
}

// allSnapshots returns those of the cluster's volumes in one vCenter.
func (s *Store) allSnapshots(ctx context.Context, c *conn) (found []volume.Snapshot, err error) {
	defer about(c, &err, "list snapshots")
	volumes, err := c.query(ctx, cnstypes.CnsQueryFilter{ContainerClusterIds: []string{s.opts.Cluster.ID}})
	if err != nil {
		return nil, err
	}
	by := map[string]volume.Volume{}
	for _, v := range volumes {
		by[v.VolumeId.Id] = c.understood(v)
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

// snapshots asks CNS for the snapshots of a volume, for one of them, or for all, all pages of them. What is not there has
// none.
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
