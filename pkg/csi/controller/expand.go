package controller

import (
	"context"
	"errors"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// ControllerExpandVolume makes a volume at least as large as required, in use or not. The node service grows its file system.
func (c *Controller) ControllerExpandVolume(ctx context.Context, r *csi.ControllerExpandVolumeRequest) (*csi.ControllerExpandVolumeResponse, error) {
	id := r.GetVolumeId()
	switch {
	case id == "":
		return nil, invalid("volume id: missing")
	case r.GetCapacityRange().GetRequiredBytes() <= 0:
		return nil, invalid("expand volume %s: capacity range: no size required", id)
	}
	if r.GetVolumeCapability() != nil {
		if err := checkCapability(r.GetVolumeCapability()); err != nil {
			return nil, err
		}
	}
	bytes, err := size(r.GetCapacityRange(), 0)
	if err != nil {
		return nil, err
	}
	end, err := c.flight.begin("expand volume", id)
	if err != nil {
		return nil, err
	}
	defer end()
	now, err := c.store.Expand(ctx, id, bytes)
	if err != nil {
		return nil, failed(err, "expand volume %s to %d bytes", id, bytes)
	}
	if limit := r.GetCapacityRange().GetLimitBytes(); limit > 0 && now > limit {
		return nil, status.Errorf(codes.OutOfRange, "expand volume %s: it has %d bytes, which is more than the limit of %d, and never shrinks", id, now, limit)
	}
	return &csi.ControllerExpandVolumeResponse{
		CapacityBytes:         now,
		NodeExpansionRequired: r.GetVolumeCapability().GetBlock() == nil,
	}, nil
}

// DeleteVolume deletes a volume and its disk. It succeeds if the volume does not exist or the id is invalid, and returns
// FailedPrecondition if the volume is attached or has snapshots.
func (c *Controller) DeleteVolume(ctx context.Context, r *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	id := r.GetVolumeId()
	if id == "" {
		return nil, invalid("volume id: missing")
	}
	end, err := c.flight.begin("delete volume", id)
	if err != nil {
		return nil, err
	}
	defer end()
	if err := c.store.Delete(ctx, id); err != nil && !errors.Is(err, volume.ErrNotFound) {
		return nil, failed(err, "delete volume %s", id)
	}
	return &csi.DeleteVolumeResponse{}, nil
}
