package node

import (
	"context"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// NodePublishVolume makes a staged volume visible at the target path.
func (s *Server) NodePublishVolume(ctx context.Context, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	u, alone, err := use(r.GetVolumeCapability())
	for _, e := range []error{checkVolume(r.GetVolumeId()), checkPath("target", r.GetTargetPath()), err} {
		if e != nil {
			return nil, e
		}
	}
	if r.GetStagingTargetPath() == "" { // so CSI says, for what would else be invalid
		return nil, status.Error(codes.FailedPrecondition, "no staging target path")
	}
	readOnly := r.GetReadonly() || r.GetVolumeCapability().GetAccessMode().GetMode() == csi.VolumeCapability_AccessMode_SINGLE_NODE_READER_ONLY
	return do(ctx, s, call{what: "publish", volume: r.GetVolumeId()}, func(ctx context.Context) (*csi.NodePublishVolumeResponse, error) {
		return &csi.NodePublishVolumeResponse{}, s.opts.Backend.Publish(ctx, Publish{
			Volume: r.GetVolumeId(), Disk: diskOf(r.GetPublishContext()), Staging: r.GetStagingTargetPath(), Path: r.GetTargetPath(),
			Use: u, ReadOnly: readOnly, Alone: alone,
		})
	})
}

// NodeUnpublishVolume undoes NodePublishVolume and removes the target path.
func (s *Server) NodeUnpublishVolume(ctx context.Context, r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	for _, e := range []error{checkVolume(r.GetVolumeId()), checkPath("target", r.GetTargetPath())} {
		if e != nil {
			return nil, e
		}
	}
	return do(ctx, s, call{what: "unpublish", volume: r.GetVolumeId()}, func(ctx context.Context) (*csi.NodeUnpublishVolumeResponse, error) {
		return &csi.NodeUnpublishVolumeResponse{}, s.opts.Backend.Unpublish(ctx, r.GetVolumeId(), r.GetTargetPath())
	})
}
