package controller

import (
	"context"
	"fmt"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// source adds what the volume begins with: nothing, or the content of a snapshot. As upstream has it, such a volume has
// the snapshot's size and lies on the datastore of the snapshot's volume.
func (c *Controller) source(ctx context.Context, r *csi.CreateVolumeRequest, w *wanted) error {
	var id string
	switch s := r.GetVolumeContentSource().GetType().(type) {
	case nil:
		return nil
	case *csi.VolumeContentSource_Snapshot:
		id = s.Snapshot.GetSnapshotId()
	default:
		return invalid("volume content source: this driver does not clone volumes: take a snapshot of the volume, and create one from that")
	}
	if id == "" {
		return invalid("volume content source: snapshot id: missing")
	}
	snapshot, err := c.snapshot(ctx, id)
	if err != nil {
		return failed(err, "create volume %q of snapshot %s", r.GetName(), id)
	}
	of, err := c.store.Volume(ctx, snapshot.Volume)
	if err != nil {
		return failed(err, "volume of snapshot %s", id)
	}
	bytes, err := size(r.GetCapacityRange(), snapshot.Capacity)
	switch {
	case err != nil:
		return err
	case bytes != snapshot.Capacity:
		return status.Errorf(codes.OutOfRange, "create volume %q of snapshot %s: %d bytes: it can only be as large as the snapshot, %d bytes: "+
			"expand the volume when it is there", r.GetName(), id, bytes, snapshot.Capacity)
	}
	w.spec.Capacity, w.requirement.Capacity = bytes, bytes
	w.spec.Snapshot = snapshot.SnapshotRef
	w.on = volume.Datastore{VCenter: of.VCenter, URL: of.DatastoreURL}
	return nil
}

// snapshot looks one up by its id. An id that is none of ours is one that there is not.
func (c *Controller) snapshot(ctx context.Context, id string) (volume.Snapshot, error) {
	v, s, err := names.SplitSnapshotID(id)
	if err != nil {
		return volume.Snapshot{}, fmt.Errorf("%w: %w", err, volume.ErrNotFound)
	}
	found, err := c.store.Snapshots(ctx, volume.SnapshotRef{Volume: v, Snapshot: s})
	switch {
	case err != nil:
		return volume.Snapshot{}, err
	case len(found) == 0:
		return volume.Snapshot{}, fmt.Errorf("snapshot %s: %w", id, volume.ErrNotFound)
	}
	return found[0], nil
}
