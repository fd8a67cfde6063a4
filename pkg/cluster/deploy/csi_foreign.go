package deploy

import (
	"context"
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/objects"
)

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
