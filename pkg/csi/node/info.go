package node

import (
	"context"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// NodeGetInfo tells kubelet, when the driver registers, which VM this is, how many volumes it takes and where it is. What
// the node's topology is it may have to wait for; when it is still not known it is Unavailable, and kubelet asks again.
func (s *Server) NodeGetInfo(ctx context.Context, _ *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	r := &csi.NodeGetInfoResponse{NodeId: s.opts.NodeID, MaxVolumesPerNode: max(s.opts.MaxVolumes, 0)}
	if s.opts.Topology == nil {
		return r, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.TopologyTimeout)
	defer cancel()
	segments, err := s.opts.Topology(ctx)
	if err != nil {
		s.opts.Logger.Warn("topology of the node", "node", s.opts.NodeID, "err", err)
		return nil, status.Errorf(codes.Unavailable, "topology of node %s: %v", s.opts.NodeID, err)
	}
	if len(segments) > 0 {
		r.AccessibleTopology = &csi.Topology{Segments: segments}
	}
	return r, nil
}

// NodeGetCapabilities tells what the service can do.
func (s *Server) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	can := []csi.NodeServiceCapability_RPC_Type{
		csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME,
		csi.NodeServiceCapability_RPC_EXPAND_VOLUME,
		csi.NodeServiceCapability_RPC_GET_VOLUME_STATS,
		csi.NodeServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER,
	}
	if s.opts.Backend.MountsForGroup() {
		can = append(can, csi.NodeServiceCapability_RPC_VOLUME_MOUNT_GROUP)
	}
	r := &csi.NodeGetCapabilitiesResponse{}
	for _, c := range can {
		r.Capabilities = append(r.Capabilities, &csi.NodeServiceCapability{
			Type: &csi.NodeServiceCapability_Rpc{Rpc: &csi.NodeServiceCapability_RPC{Type: c}},
		})
	}
	return r, nil
}
