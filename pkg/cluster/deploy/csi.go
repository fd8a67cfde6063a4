package deploy

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/objects"
)

// The ways in which a node service makes a volume of a disk.
const (
	// BackendDevice mounts the disk that appears below /dev/disk/by-id of the node.
	BackendDevice = "device"
	// BackendDir shows the directory that the link of a disk there leads to, below CSI.VolumesDir: for nodes to which no disk
	// can be given.
	BackendDir = "dir"
)

// CSI says which CSI driver runs, and how.
type CSI struct {
	Config
	// Image and Sidecars are what the images of the sandbox's own driver and of the stock sidecars are called on the nodes,
	// which have them already. Required without Manifest.
	Image, Sidecars string
	// Manifest is somebody else's, applied as it is: see CCM.Manifest. Beside it there are the StorageClasses that the sandbox
	// has in any case, and what snapshots need that no driver brings: their definitions and, with Sidecars, their controller. Of
	// the fields below it has Policies count.
	Manifest []byte
	// Backend is BackendDevice, the default, or BackendDir.
	Backend string
	// VolumesDir is where volumes are with BackendDir: a directory that all nodes have at that path, and share.
	VolumesDir string
	// SerialFile is the file on every node that has the serial number of its VM. Default: where firmware's is.
	SerialFile string
	// Light is the label of nodes that run no pods; "": there are none.
	Light string
	// Policies are the names of storage policies that get a StorageClass each.
	Policies []string
	// Zones: nodes are in regions and zones, and volumes are made where their pods can be.
	Zones bool
}

func (c CSI) withDefaults() CSI {
	if c.Backend == "" {
		c.Backend = BackendDevice
	}
	return c
}

func (c CSI) check() error {
	switch {
	case c.Conf == nil:
		return errors.New("csi: no configuration")
	case c.Manifest != nil:
		return nil
	case c.Image == "" || c.Sidecars == "":
		return errors.New("csi: the images of the driver and of the sidecars, or a manifest, are needed")
	case c.Backend != BackendDevice && c.Backend != BackendDir:
		return fmt.Errorf("csi: backend %q: %s or %s", c.Backend, BackendDevice, BackendDir)
	case (c.Backend == BackendDir) != (c.VolumesDir != ""):
		return fmt.Errorf("csi: a folder for volumes (%q) goes with backend %s, and that with it", c.VolumesDir, BackendDir)
	}
	for _, p := range []string{c.VolumesDir, c.SerialFile} {
		if p != "" && (!path.IsAbs(p) || path.Clean(p) != p || strings.ContainsAny(p, ",")) {
			return fmt.Errorf("csi: %q: an absolute path on the nodes is needed", p)
		}
	}
	return nil
}

// CSI makes a CSI driver run in the cluster, in the place of one that it made before: the controller with the sidecars, the
// snapshot-controller, a node service on every node, StorageClasses. It returns when everything has been applied, before
// anything of it runs: see [Deployment.Wait].
func (d *Deployment) CSI(ctx context.Context, c CSI) error {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return err
	}
	d.changing.Lock()
	defer d.changing.Unlock()
	var all []*unstructured.Unstructured
	var err error
	if c.Manifest != nil {
		all, err = d.foreignCSI(ctx, c)
	} else {
		all, err = d.ownCSI(ctx, c)
	}
	if err != nil {
		return fmt.Errorf("csi: %w", err)
	}
	d.csi = c
	if err := d.prune(ctx, partCSI, all); err != nil {
		return fmt.Errorf("csi: %w", err)
	}
	return nil
}

// foreignCSI applies somebody else's manifest, and what is beside a driver: definitions before it, because its sidecars end
// where there are none.
func (d *Deployment) foreignCSI(ctx context.Context, c CSI) ([]*unstructured.Unstructured, error) {
	theirs, err := parse("CSI driver's manifest", c.Manifest)
	if err != nil {
		return nil, err
	}
	controlPlanes, err := d.showsControlPlane(ctx)
	if err != nil {
		return nil, err
	}
	beside, err := d.besideCSI(c, controlPlanes, theirs)
	if err != nil {
		return nil, err
	}
	var first, rest []*unstructured.Unstructured
	for _, o := range beside {
		if shared(o) {
			first = append(first, o)
		} else {
			rest = append(rest, o)
		}
	}
	if err := d.install(ctx, first); err != nil {
		return nil, err
	}
	all, err := d.foreignManifest(ctx, "CSI driver's manifest", c.Manifest, c.Config, csiForm(), partCSI)
	if err != nil {
		return nil, err
	}
	return append(all, beside...), d.install(ctx, rest)
}

// besideCSI is what the sandbox has beside any driver, but for what a manifest brings itself.
func (d *Deployment) besideCSI(c CSI, controlPlanes int, theirs []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	all, err := d.renderCSI(c, controlPlanes)
	if err != nil {
		return nil, err
	}
	brought := map[string]bool{}
	for _, o := range theirs {
		brought[identity(o)] = true
	}
	return slices.DeleteFunc(all, func(o *unstructured.Unstructured) bool {
		controller := strings.HasSuffix(o.GetName(), objects.SnapshotController)
		switch {
		case brought[identity(o)]:
			return true
		case o.GetKind() == "Namespace", o.GetKind() == "StorageClass", o.GetKind() == "VolumeSnapshotClass":
			return false
		case o.GetKind() == "CustomResourceDefinition":
			return !strings.HasSuffix(o.GetName(), ".snapshot.storage.k8s.io")
		}
		return !controller || c.Sidecars == ""
	}), nil
}

// ErrNoForeignCSI says that this process has deployed no CSI driver of somebody else's.
var ErrNoForeignCSI = errors.New("csi: no manifest of somebody else's has been deployed")

// ConfigureCSI writes the configuration of a CSI driver of somebody else's anew, as after a password has changed. Pods see it when
// their kubelet looks, within a minute or so. The sandbox's own reads a Secret, which is not written by this.
func (d *Deployment) ConfigureCSI(ctx context.Context, c Config) error {
	d.changing.Lock()
	defer d.changing.Unlock()
	if d.csi.Manifest == nil {
		return ErrNoForeignCSI
	}
	all, err := parse("CSI driver's manifest", d.csi.Manifest)
	if err != nil {
		return err
	}
	l, err := layoutOf(all, csiForm())
	if err != nil {
		return err
	}
	d.csi.Config = c
	return d.write(ctx, l, c, partCSI)
}
