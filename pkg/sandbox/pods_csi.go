package sandbox

import (
	"context"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/image"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/feed"
)

// deployCSI has the CSI driver run in the cluster. It returns before it does: see [Sandbox.waitCSIPods].
func (s *Sandbox) deployCSI(ctx context.Context) error {
	if s.opts.CSI.Foreign != nil {
		return s.deployForeignCSI(ctx)
	}
	config, err := s.pods.Config()
	if err != nil {
		return err
	}
	var volumes ground.PodVolumes
	if g, ok := s.ground.(ground.Volumes); ok {
		volumes = g.PodVolumes()
	}
	return s.pods.CSI(ctx, deploy.CSI{
		Config: config, Image: s.pods.images.Name(image.CSI), Sidecars: s.pods.images.Name(image.Sidecars),
		Backend: volumes.Backend, VolumesDir: volumes.Dir, SerialFile: volumes.Serial,
		Light:    feed.Mark,
		Policies: s.csi.Config().Policies, Zones: s.csi.Zoned(),
	})
}

// waitCSIPods waits until the driver's controller is ready, and every node whose guest runs takes volumes.
func (s *Sandbox) waitCSIPods(ctx context.Context) error {
	if s.opts.CSI.Foreign != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, foreignCSITime, fmt.Errorf("not done after %s", foreignCSITime))
		defer cancel()
	}
	if err := s.pods.Wait(ctx, s.detail); err != nil {
		return err
	}
	return s.awaitEach(ctx, "take volumes", "took volumes", s.csi.Waiting, s.csi.Blocker)
}

// waitCSI waits until the driver's processes have been started and every node whose kubelet runs takes volumes, which shows
// that the driver's controller works, too.
func (s *Sandbox) waitCSI(ctx context.Context) error {
	if err := s.csi.Up(ctx); err != nil {
		return err
	}
	return s.awaitEach(ctx, "take volumes", "took volumes", s.csi.Waiting, s.csi.Blocker)
}
