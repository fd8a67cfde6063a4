package node

import (
	"context"

	"github.com/container-storage-interface/spec/lib/go/csi"
)

// NodeGetVolumeStats tells how full a volume is. It waits for nothing else that is done to the volume.
func (s *Server) NodeGetVolumeStats(ctx context.Context, r *csi.NodeGetVolumeStatsRequest) (*csi.NodeGetVolumeStatsResponse, error) {
	if err := checkVolume(r.GetVolumeId()); err != nil {
		return nil, err
	}
	if r.GetVolumePath() == "" {
		return nil, invalid("no volume path")
	}
	return do(ctx, s, call{what: "stats", volume: r.GetVolumeId(), key: "stats "}, func(ctx context.Context) (*csi.NodeGetVolumeStatsResponse, error) {
		st, err := s.opts.Backend.Stats(ctx, r.GetVolumeId(), r.GetVolumePath())
		if err != nil {
			return nil, err
		}
		usage := []*csi.VolumeUsage{{Unit: csi.VolumeUsage_BYTES, Total: st.Capacity, Used: st.Used, Available: st.Available}}
		if !st.Block {
			usage = append(usage, &csi.VolumeUsage{Unit: csi.VolumeUsage_INODES, Total: st.Inodes, Used: st.InodesUsed, Available: st.InodesFree})
		}
		return &csi.NodeGetVolumeStatsResponse{Usage: usage}, nil
	})
}
