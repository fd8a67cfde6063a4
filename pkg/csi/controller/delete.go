package controller

import (
	"context"
	"errors"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// DeleteVolume removes a volume and its disk. One that is not there, or whose id is none, is deleted already. One that is
// attached or has snapshots is refused (FailedPrecondition).
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
