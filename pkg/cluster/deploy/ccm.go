package deploy

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// maxReplicas bounds what one machine is asked to run.
const maxReplicas = 9

// CCM says which cloud controller manager runs, and how.
type CCM struct {
	Config
	// Image is what the image of the sandbox's own is called on the nodes, which have it already. Required without Manifest.
	Image string
	// Manifest is somebody else's, applied as it is: what is in it is not changed but for the contents of the ConfigMap
	// and the Secret that its pods are configured with. The fields below are for the sandbox's own.
	Manifest []byte
	// Args come after the sandbox's own, and in the places of those of the same names.
	Args []string
	// Replicas is how many run on each node of the control plane; 0 is one. Where more than one runs they elect a leader.
	Replicas int
}

func (c CCM) check() error {
	switch {
	case c.Conf == nil:
		return errors.New("cloud controller manager: no configuration")
	case c.Manifest == nil && c.Image == "":
		return errors.New("cloud controller manager: neither an image nor a manifest")
	case c.Replicas < 0 || c.Replicas > maxReplicas:
		return fmt.Errorf("cloud controller manager: %d replicas: 1 to %d", c.Replicas, maxReplicas)
	case c.Manifest != nil && (c.Replicas > 1 || len(c.Args) > 0):
		return errors.New("cloud controller manager: replicas and arguments of a manifest are what it says: " +
			"it is applied as it is; change the manifest, or take the built-in one")
	}
	return nil
}

// CCM makes a cloud controller manager run in the cluster, in the place of one that it made before. It returns when
// everything has been applied, before anything of it runs: see [Deployment.Wait].
func (d *Deployment) CCM(ctx context.Context, c CCM) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.Manifest != nil && d.at != nil {
		return errors.New("cloud controller manager: a manifest says itself where its pods run, and here they have to be kept in one place")
	}
	d.changing.Lock()
	defer d.changing.Unlock()
	return d.placeCCM(ctx, c)
}

func (d *Deployment) placeCCM(ctx context.Context, c CCM) error {
	var all []*unstructured.Unstructured
	var err error
	if c.Manifest != nil {
		all, err = d.foreignManifest(ctx, "cloud controller manager's manifest", c.Manifest, c.Config, ccmForm(), partCCM)
	} else {
		all, err = d.ownCCM(ctx, c)
	}
	if err != nil {
		return fmt.Errorf("cloud controller manager: %w", err)
	}
	d.ccm = c
	if err := d.prune(ctx, partCCM, all); err != nil {
		return fmt.Errorf("cloud controller manager: %w", err)
	}
	return nil
}

// Configure writes the configuration of the cloud controller manager anew, as after a vCenter has changed its certificate
// or its password. Pods see it when their kubelet looks, within a minute or so.
func (d *Deployment) Configure(ctx context.Context, c Config) error {
	d.changing.Lock()
	defer d.changing.Unlock()
	if d.ccm.Conf == nil {
		return errors.New("cloud controller manager: none has been deployed by this process")
	}
	l := ownCCMLayout()
	if d.ccm.Manifest != nil {
		all, err := parse("manifest", d.ccm.Manifest)
		if err != nil {
			return err
		}
		if l, err = layoutOf(all, ccmForm()); err != nil {
			return err
		}
	}
	if err := d.write(ctx, l, c, partCCM); err != nil {
		return err
	}
	d.ccm.Config = c
	return nil
}

// Scale changes how many cloud controller managers run on each node of the control plane.
func (d *Deployment) Scale(ctx context.Context, replicas int) error {
	d.changing.Lock()
	defer d.changing.Unlock()
	c := d.ccm
	switch {
	case c.Conf == nil:
		return errors.New("scale: no cloud controller manager has been deployed by this process")
	case c.Manifest != nil:
		return errors.New("scale: the manifest says how many run (a DaemonSet has one on each node that it selects), and it is applied as it is; " +
			"the built-in cloud controller manager can be scaled")
	}
	c.Replicas = replicas
	if err := c.check(); err != nil {
		return err
	}
	return d.placeCCM(ctx, c)
}
