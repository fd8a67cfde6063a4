package controller

import (
	"context"

	"github.com/container-storage-interface/spec/lib/go/csi"
)

// ControllerGetVolume returns one volume, its condition and its nodes.
func (c *Controller) ControllerGetVolume(ctx context.Context, r *csi.ControllerGetVolumeRequest) (*csi.ControllerGetVolumeResponse, error) {
	if r.GetVolumeId() == "" {
		return nil, invalid("volume id: missing")
	}
	v, err := c.store.Volume(ctx, r.GetVolumeId())
	if err != nil {
		return nil, failed(err, "volume %s", r.GetVolumeId())
	}
	on, err := c.publishedOn(ctx, v.ID)
	if err != nil {
		return nil, failed(err, "nodes of volume %s", v.ID)
	}
	return &csi.ControllerGetVolumeResponse{
		Volume: listed(v),
		Status: &csi.ControllerGetVolumeResponse_VolumeStatus{PublishedNodeIds: on, VolumeCondition: condition(v)},
	}, nil
}
