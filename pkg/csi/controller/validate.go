package controller

import (
	"context"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/status"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
)

// ValidateVolumeCapabilities confirms the capabilities of an existing volume, or returns why it cannot.
func (c *Controller) ValidateVolumeCapabilities(ctx context.Context, r *csi.ValidateVolumeCapabilitiesRequest) (*csi.ValidateVolumeCapabilitiesResponse, error) {
	switch {
	case r.GetVolumeId() == "":
		return nil, invalid("volume id: missing")
	case len(r.GetVolumeCapabilities()) == 0:
		return nil, invalid("volume capability: missing")
	}
	if _, err := c.store.Volume(ctx, r.GetVolumeId()); err != nil {
		return nil, failed(err, "volume %s", r.GetVolumeId())
	}
	if why := unconfirmed(r); why != nil {
		return &csi.ValidateVolumeCapabilitiesResponse{Message: status.Convert(why).Message()}, nil
	}
	return &csi.ValidateVolumeCapabilitiesResponse{Confirmed: &csi.ValidateVolumeCapabilitiesResponse_Confirmed{
		VolumeContext:      r.GetVolumeContext(),
		VolumeCapabilities: r.GetVolumeCapabilities(),
		Parameters:         r.GetParameters(),
	}}, nil
}

func unconfirmed(r *csi.ValidateVolumeCapabilitiesRequest) error {
	if kind, ok := r.GetVolumeContext()[names.AttributeType]; ok && kind != names.BlockVolume {
		return invalid("volume context: %s is %q, not %q", names.AttributeType, kind, names.BlockVolume)
	}
	if len(r.GetMutableParameters()) > 0 {
		return invalid("mutable parameters: this driver does not support volume attributes classes")
	}
	if _, err := readParameters(r.GetParameters()); err != nil {
		return err
	}
	return checkCapabilities(r.GetVolumeCapabilities())
}
