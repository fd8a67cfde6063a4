package node

import (
	"context"

	"github.com/container-storage-interface/spec/lib/go/csi"
)

// NodeStageVolume waits for the volume's disk, formats it when it is new and mounts it at the staging path.
func (s *Server) NodeStageVolume(ctx context.Context, r *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	u, _, err := use(r.GetVolumeCapability())
	for _, e := range []error{checkVolume(r.GetVolumeId()), checkPath("staging target", r.GetStagingTargetPath()), err} {
		if e != nil {
			return nil, e
		}
	}
	return do(ctx, s, call{what: "stage", volume: r.GetVolumeId()}, func(ctx context.Context) (*csi.NodeStageVolumeResponse, error) {
		return &csi.NodeStageVolumeResponse{}, s.opts.Backend.Stage(ctx, Stage{
			Volume: r.GetVolumeId(), Disk: diskOf(r.GetPublishContext()), Path: r.GetStagingTargetPath(), Use: u,
		})
	})
}

// NodeUnstageVolume undoes NodeStageVolume.
func (s *Server) NodeUnstageVolume(ctx context.Context, r *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse, error) {
	for _, e := range []error{checkVolume(r.GetVolumeId()), checkPath("staging target", r.GetStagingTargetPath())} {
		if e != nil {
			return nil, e
		}
	}
	return do(ctx, s, call{what: "unstage", volume: r.GetVolumeId()}, func(ctx context.Context) (*csi.NodeUnstageVolumeResponse, error) {
		return &csi.NodeUnstageVolumeResponse{}, s.opts.Backend.Unstage(ctx, r.GetVolumeId(), r.GetStagingTargetPath())
	})
}
