package node

import (
	"context"
	"fmt"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// NodeExpandVolume makes the file system as large as the disk has become.
func (s *Server) NodeExpandVolume(ctx context.Context, r *csi.NodeExpandVolumeRequest) (*csi.NodeExpandVolumeResponse, error) {
	if err := checkVolume(r.GetVolumeId()); err != nil {
		return nil, err
	}
	if r.GetVolumePath() == "" {
		return nil, invalid("no volume path")
	}
	need, limit := r.GetCapacityRange().GetRequiredBytes(), r.GetCapacityRange().GetLimitBytes()
	switch {
	case need < 0 || limit < 0:
		return nil, invalid("capacity of %d to %d bytes", need, limit)
	case limit > 0 && limit < need:
		return nil, status.Errorf(codes.OutOfRange, "limit of %d bytes is less than the %d required", limit, need)
	}
	return do(ctx, s, call{what: "expand", volume: r.GetVolumeId()}, func(ctx context.Context) (*csi.NodeExpandVolumeResponse, error) {
		size, err := s.opts.Backend.Expand(ctx, Expand{Volume: r.GetVolumeId(), Path: r.GetVolumePath(), Bytes: need})
		if err == nil && size < need {
			err = fmt.Errorf("disk has %d bytes, not the %d required: %w", size, need, volume.ErrUnavailable)
		}
		return &csi.NodeExpandVolumeResponse{CapacityBytes: size}, err
	})
}
