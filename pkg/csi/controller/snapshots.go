package controller

import (
	"context"
	"errors"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// CreateSnapshot takes a snapshot of a volume, or returns the one of that name. It is ready when the call returns.
func (c *Controller) CreateSnapshot(ctx context.Context, r *csi.CreateSnapshotRequest) (*csi.CreateSnapshotResponse, error) {
	name, of := r.GetName(), r.GetSourceVolumeId()
	switch {
	case name == "":
		return nil, invalid("name: missing")
	case of == "":
		return nil, invalid("source volume id: missing")
	}
	if err := checkSnapshotParameters(r.GetParameters()); err != nil {
		return nil, err
	}
	end, err := c.flight.begin("create snapshot", name)
	if err != nil {
		return nil, err
	}
	defer end()
	if err := c.free(ctx, name, of); err != nil {
		return nil, err
	}
	s, err := c.store.Snapshot(ctx, of, name)
	if err != nil {
		return nil, failed(err, "take snapshot %q of volume %s", name, of)
	}
	c.taken.add(name, s.SnapshotRef)
	return &csi.CreateSnapshotResponse{Snapshot: shown(s)}, nil
}

// free refuses a name that another volume's snapshot has. Names of snapshots are a volume's own in vSphere, so that is
// known of those taken since the driver began; Kubernetes makes them of UIDs, and asks for none twice.
func (c *Controller) free(ctx context.Context, name, of string) error {
	ref, ok := c.taken.get(name)
	if !ok || ref.Volume == of {
		return nil
	}
	switch all, err := c.store.Snapshots(ctx, ref); {
	case errors.Is(err, volume.ErrNotFound) || err == nil && len(all) == 0:
		return nil
	case err != nil:
		return failed(err, "take snapshot %q of volume %s", name, of)
	}
	return status.Errorf(codes.AlreadyExists, "take snapshot %q of volume %s: one of that name is there of volume %s: use another name", name, of, ref.Volume)
}

// DeleteSnapshot removes a snapshot. One that is not there, or whose id is none, is deleted already.
func (c *Controller) DeleteSnapshot(ctx context.Context, r *csi.DeleteSnapshotRequest) (*csi.DeleteSnapshotResponse, error) {
	id := r.GetSnapshotId()
	if id == "" {
		return nil, invalid("snapshot id: missing")
	}
	v, s, err := names.SplitSnapshotID(id)
	if err != nil {
		return &csi.DeleteSnapshotResponse{}, nil
	}
	end, err := c.flight.begin("delete snapshot", id)
	if err != nil {
		return nil, err
	}
	defer end()
	ref := volume.SnapshotRef{Volume: v, Snapshot: s}
	if err := c.store.DeleteSnapshot(ctx, ref); err != nil && !errors.Is(err, volume.ErrNotFound) {
		return nil, failed(err, "delete snapshot %s of volume %s", s, v)
	}
	c.taken.remove(ref)
	return &csi.DeleteSnapshotResponse{}, nil
}

// shown is a snapshot as CSI has it.
func shown(s volume.Snapshot) *csi.Snapshot {
	created := s.Created
	if created.IsZero() {
		created = time.Unix(0, 0) // CSI wants one
	}
	return &csi.Snapshot{
		SnapshotId:     names.SnapshotID(s.Volume, s.Snapshot),
		SourceVolumeId: s.Volume,
		SizeBytes:      s.Capacity,
		CreationTime:   timestamppb.New(created),
		ReadyToUse:     true,
	}
}
