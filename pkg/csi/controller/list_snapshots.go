package controller

import (
	"context"
	"errors"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// ListSnapshots lists the snapshot of an id, those of a volume, or all, in the order of their ids.
func (c *Controller) ListSnapshots(ctx context.Context, r *csi.ListSnapshotsRequest) (*csi.ListSnapshotsResponse, error) {
	if _, _, err := page(nil, snapshotID, r.GetStartingToken(), r.GetMaxEntries()); err != nil {
		return nil, err
	}
	of := volume.SnapshotRef{Volume: r.GetSourceVolumeId()}
	if id := r.GetSnapshotId(); id != "" {
		v, s, err := names.SplitSnapshotID(id)
		if err != nil || of.Volume != "" && of.Volume != v {
			return &csi.ListSnapshotsResponse{}, nil
		}
		of = volume.SnapshotRef{Volume: v, Snapshot: s}
	}
	all, err := c.store.Snapshots(ctx, of)
	if err != nil && !errors.Is(err, volume.ErrNotFound) {
		return nil, failed(err, "list snapshots")
	}
	all, next, err := page(all, snapshotID, r.GetStartingToken(), r.GetMaxEntries())
	if err != nil {
		return nil, err
	}
	answer := &csi.ListSnapshotsResponse{NextToken: next}
	for _, s := range all {
		answer.Entries = append(answer.Entries, &csi.ListSnapshotsResponse_Entry{Snapshot: shown(s)})
	}
	return answer, nil
}

func snapshotID(s volume.Snapshot) string { return names.SnapshotID(s.Volume, s.Snapshot) }
