package hollow_test

import (
	"context"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/folder"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/hollow"
)

func newBackend(r *rig) (*folder.Backend, error) { return hollow.New(r.opts) }

// requests are kubelet's calls for a pod that starts and ends; the volume stays staged.
func requests(r *rig, volume, pod string) []func(context.Context, *node.Server) error {
	c := &csi.VolumeCapability{
		AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER},
		AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{VolumeMountGroup: "2000"}},
	}
	on := map[string]string{names.DiskUUID: uuid(volume)}
	return []func(context.Context, *node.Server) error{
		func(ctx context.Context, s *node.Server) error {
			_, err := s.NodeStageVolume(ctx, &csi.NodeStageVolumeRequest{
				VolumeId: volume, StagingTargetPath: r.global(volume), VolumeCapability: c, PublishContext: on,
			})
			return err
		},
		func(ctx context.Context, s *node.Server) error {
			_, err := s.NodePublishVolume(ctx, &csi.NodePublishVolumeRequest{
				VolumeId: volume, StagingTargetPath: r.global(volume), TargetPath: r.target(volume, pod), VolumeCapability: c, PublishContext: on,
			})
			return err
		},
		func(ctx context.Context, s *node.Server) error {
			_, err := s.NodeGetVolumeStats(ctx, &csi.NodeGetVolumeStatsRequest{VolumeId: volume, VolumePath: r.target(volume, pod)})
			return err
		},
		func(ctx context.Context, s *node.Server) error {
			_, err := s.NodeUnpublishVolume(ctx, &csi.NodeUnpublishVolumeRequest{VolumeId: volume, TargetPath: r.target(volume, pod)})
			return err
		},
	}
}
