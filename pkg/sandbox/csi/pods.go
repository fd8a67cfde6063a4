package csi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/image"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/feed"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/await"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// foreignTimeout bounds the start of a driver that is not the built-in one: nodes pull its images, and upstream's node service
// restarts with growing pauses until its syncer runs.
const foreignTimeout = 6 * time.Minute

// Deploy runs the driver as pods. It returns before the pods are ready: see [Driver.AwaitPods].
func (d *Driver) Deploy(ctx context.Context) error {
	if d.Manifest != nil {
		return d.deployForeign(ctx)
	}
	config, err := d.Pods.Driver()
	if err != nil {
		return err
	}
	volumes := d.Volumes()
	volumes.Config, volumes.Image, volumes.Sidecars = config, d.Pods.Image(image.CSI), d.Pods.Image(image.Sidecars)
	volumes.Light, volumes.Policies, volumes.Zones = feed.LightKey, d.Config().Policies, d.Topology.Zoned()
	return d.Pods.CSI(ctx, volumes)
}

func (d *Driver) deployForeign(ctx context.Context) error {
	config, err := d.foreignConfig(ctx, nil)
	if err != nil {
		return err
	}
	return d.Pods.CSI(ctx, deploy.CSI{
		Config: config, Manifest: d.Manifest, Sidecars: d.Pods.Image(image.Sidecars), Policies: d.Config().Policies, Zones: d.Topology.Zoned(),
	})
}

// ConfigureForeign writes the users and passwords of the cloud controller manager's Secret to the one file that a driver reads
// which is not the built-in one.
func (d *Driver) ConfigureForeign(ctx context.Context, secret map[string][]byte) error {
	config, err := d.foreignConfig(ctx, secret)
	if err != nil {
		return err
	}
	if err := d.Pods.ConfigureCSI(ctx, config); !errors.Is(err, deploy.ErrNoForeignCSI) { // Deploy writes it later
		return err
	}
	return nil
}

// foreignConfig returns the configuration of such a driver, with the logins of a Secret; a login that is missing there stays
// empty. For nil it has the logins of the vCenters.
func (d *Driver) foreignConfig(ctx context.Context, secret map[string][]byte) (deploy.Config, error) {
	config, err := d.Pods.Driver()
	if err != nil {
		return config, err
	}
	clusterID, err := d.ClusterID(ctx)
	if err != nil {
		return config, err
	}
	config.Conf = func(at deploy.ConfigLocation) ([]byte, error) {
		c := sim.CSIConfig{ClusterID: clusterID, CAFile: at.CAFile, Reach: d.Pods.Endpoint}
		if secret != nil {
			c.Login = func(vcenter string) (user, password string) {
				host := d.Pods.Host(vcenter)
				return string(secret[host+".username"]), string(secret[host+".password"])
			}
		}
		return d.Conf(c)
	}
	return config, nil
}

// AwaitPods waits until the driver's controller is ready and every Node whose guest runs takes volumes.
func (d *Driver) AwaitPods(ctx context.Context) error {
	if d.Manifest != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, foreignTimeout, fmt.Errorf("not done after %s", foreignTimeout))
		defer cancel()
	}
	if err := d.Pods.Wait(ctx, d.Waiter.Detail); err != nil {
		return err
	}
	return d.awaitNodes(ctx)
}

// Await waits until the driver's processes have been started, every Node whose kubelet runs takes volumes, which also shows that the
// driver's controller works, and the scheduler knows the space of their zones.
func (d *Driver) Await(ctx context.Context) error {
	if err := d.awaitStart(ctx); err != nil {
		return err
	}
	if d.Running().Program.Path != "" { // the built-in one may be as slow as the vCenters are
		if err := d.wait(ctx); err != nil {
			return err
		}
	}
	if err := d.awaitNodes(ctx); err != nil {
		return err
	}
	return d.awaitCapacities(ctx)
}

func (d *Driver) awaitNodes(ctx context.Context) error {
	return d.Waiter.Each(ctx, await.State{Are: "take volumes", Were: "took volumes", Missing: d.waiting, Blocker: d.blocker})
}
