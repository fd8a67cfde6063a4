package sandbox

import (
	"context"
	"errors"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/image"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// CSI says what volumes the sandbox has. The zero value is none.
type CSI struct {
	// Enabled: a CSI driver runs, the built-in one, with the stock sidecars, and every node serves its volumes.
	Enabled bool
	// Sidecars is the program that is the sidecars, cmd/csi-sidecars.
	Sidecars string
	// Foreign is a driver that is not ours, in the place of the built-in one; nil for that. It is for grounds where it runs as pods.
	Foreign *kind.ForeignCSI
}

// foreignCSITime bounds how long such a driver may take to come up: nodes pull its images, and upstream's node service, which
// waits for its syncer, is tried again after pauses that grow.
const foreignCSITime = 6 * time.Minute

// deployForeignCSI has a driver that is not ours run in the cluster.
func (s *Sandbox) deployForeignCSI(ctx context.Context) error {
	config, err := s.foreignCSIConfig(ctx, nil)
	if err != nil {
		return err
	}
	return s.pods.CSI(ctx, deploy.CSI{
		Config: config, Manifest: s.opts.CSI.Foreign.Manifest, Sidecars: s.pods.images.Name(image.Sidecars),
		Policies: s.csi.Config().Policies, Zones: s.csi.Zoned(),
	})
}

// configureForeignCSI has a driver that is not ours know what the cloud controller manager's Secret says: all that it reads is
// in one file.
func (s *Sandbox) configureForeignCSI(ctx context.Context, secret map[string][]byte) error {
	config, err := s.foreignCSIConfig(ctx, secret)
	if err != nil {
		return err
	}
	err = s.pods.ConfigureCSI(ctx, config)
	if errors.Is(err, deploy.ErrNoForeignCSI) {
		return nil // it is made with what is right then
	}
	return err
}

// foreignCSIConfig is what it is configured with: the users and passwords of a Secret, those that it has none of left empty; nil
// for the vCenters' own.
func (s *Sandbox) foreignCSIConfig(ctx context.Context, secret map[string][]byte) (deploy.Config, error) {
	config, err := s.pods.Config()
	if err != nil {
		return config, err
	}
	clusterID, err := s.csi.ClusterID(ctx)
	if err != nil {
		return config, err
	}
	config.Conf = func(at deploy.Place) ([]byte, error) {
		c := sim.CSIConfig{ClusterID: clusterID, CAFile: at.CAFile, Reach: s.pods.where}
		if secret != nil {
			c.Login = func(vcenter string) (user, password string) {
				host, _ := s.pods.where(vcenter)
				return string(secret[host+".username"]), string(secret[host+".password"])
			}
		}
		return s.sim.CSIConfig(c), nil
	}
	return config, nil
}
