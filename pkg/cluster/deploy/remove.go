package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
)

// VolumesError means that the cluster still has volumes of the driver to remove: no driver would delete them later.
type VolumesError struct {
	// Volumes lists them with their claims: "pvc-1 (claim default/data)".
	Volumes []string
}

// Error lists them.
func (e *VolumesError) Error() string {
	return fmt.Sprintf("the cluster has %d volumes of the CSI driver to remove: %s; delete their claims first, "+
		"or abandon the volumes", len(e.Volumes), strings.Join(e.Volumes, ", "))
}

// Remove removes all objects of the sandbox and nothing else, and returns when they are gone. While the driver has
// volumes it removes nothing and returns a [*VolumesError]; with abandon it first removes the PersistentVolumes,
// attachments and snapshot contents, and their disks stay.
//
// The order avoids waits for finalizers of removed controllers: first what the driver finalizes, then workloads, then
// what they used, at last CRDs and namespaces. A CRD of ours with objects of other owners stays, with these objects, and
// is named in an error.
func (d *Deployment) Remove(ctx context.Context, abandon bool) error {
	d.changing.Lock()
	defer d.changing.Unlock()
	if d.at != nil {
		return d.removeMarked(ctx) // the caller owns the namespace, and there is no driver
	}
	driver, err := d.marked(ctx, schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "CSIDriver"}, partCSI)
	if err != nil {
		return fmt.Errorf("remove: %w", err)
	}
	if len(driver) > 0 { // else the volumes belong to another driver of the same name
		if err := d.removeVolumes(ctx, abandon); err != nil {
			return err
		}
	}
	if err := d.removeMarked(ctx); err != nil {
		return err
	}
	left := d.removeDefinitions(ctx)
	namespaces, err := d.marked(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "")
	if err != nil {
		return errors.Join(left, fmt.Errorf("remove: %w", err))
	}
	if err := each(ctx, namespaces, d.removeNamespace); err != nil {
		return errors.Join(left, fmt.Errorf("remove: %w", err))
	}
	return left
}

// removeMarked removes all but CRDs and namespaces.
func (d *Deployment) removeMarked(ctx context.Context) error {
	for _, kind := range d.kinds() {
		existing, err := d.marked(ctx, kind, "")
		if err != nil {
			return fmt.Errorf("remove: %w", err)
		}
		if err := each(ctx, existing, d.remove); err != nil {
			return fmt.Errorf("remove: %w", err)
		}
	}
	return nil
}

// removeNamespace removes a namespace, unless it has a pod or a claim of another owner.
func (d *Deployment) removeNamespace(ctx context.Context, o *unstructured.Unstructured) error {
	pods, err := d.client.CoreV1().Pods(o.GetName()).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	pods.Items = slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
	if len(pods.Items) > 0 {
		return fmt.Errorf("it stays: pod %s in it is not the sandbox's", pods.Items[0].Name)
	}
	claims, err := d.client.CoreV1().PersistentVolumeClaims(o.GetName()).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(claims.Items) > 0 {
		return fmt.Errorf("it stays: claim %s in it is not the sandbox's", claims.Items[0].Name)
	}
	return d.remove(ctx, o)
}

// removeDefinitions removes CRDs without objects, or with only the driver's internal ones.
func (d *Deployment) removeDefinitions(ctx context.Context) error {
	definitions, err := d.marked(ctx, schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}, "")
	if err != nil {
		return fmt.Errorf("remove: %w", err)
	}
	return each(ctx, definitions, func(ctx context.Context, crd *unstructured.Unstructured) error {
		plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
		group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
		if group == "cns.vmware.com" {
			return d.remove(ctx, crd) // internal objects of the driver, without finalizers
		}
		list, err := d.dynamic.Resource(schema.GroupVersionResource{Group: group, Version: served(crd), Resource: plural}).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(list.Items) > 0 {
			return fmt.Errorf("it stays: it has objects that the sandbox has not created, such as %s", title(&list.Items[0]))
		}
		return d.remove(ctx, crd)
	})
}

// served returns a version that the API server serves.
func served(crd *unstructured.Unstructured) string {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		if m, ok := v.(map[string]any); ok && m["served"] == true {
			name, _ := m["name"].(string)
			return name
		}
	}
	return ""
}

// removeVolumes makes sure that no object has a finalizer of the driver.
func (d *Deployment) removeVolumes(ctx context.Context, abandon bool) error {
	volumes, err := d.client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("remove: volumes: %w", err)
	}
	e := &VolumesError{}
	var guarded []*unstructured.Unstructured
	for _, v := range volumes.Items {
		if v.Spec.CSI == nil || v.Spec.CSI.Driver != names.Driver {
			continue
		}
		text := v.Name
		if c := v.Spec.ClaimRef; c != nil {
			text += " (claim " + c.Namespace + "/" + c.Name + ")"
		}
		e.Volumes = append(e.Volumes, text)
		guarded = append(guarded, bare("v1", "PersistentVolume", "", v.Name))
	}
	if len(e.Volumes) > 0 && !abandon {
		return e
	}
	attachments, err := d.client.StorageV1().VolumeAttachments().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("remove: attachments: %w", err)
	}
	for _, a := range attachments.Items {
		if a.Spec.Attacher == names.Driver {
			guarded = append(guarded, bare("storage.k8s.io/v1", "VolumeAttachment", "", a.Name))
		}
	}
	contents, err := d.snapshotContents(ctx)
	if err != nil {
		return fmt.Errorf("remove: snapshots: %w", err)
	}
	if len(contents) > 0 && !abandon {
		for _, c := range contents {
			e.Volumes = append(e.Volumes, title(c))
		}
		return e
	}
	if err := each(ctx, append(guarded, contents...), d.abandon); err != nil {
		return fmt.Errorf("remove: %w", err)
	}
	return nil
}

// snapshotContents returns the driver's VolumeSnapshotContents, and the snapshots bound to them.
func (d *Deployment) snapshotContents(ctx context.Context) ([]*unstructured.Unstructured, error) {
	const group = "snapshot.storage.k8s.io"
	content := schema.GroupVersionResource{Group: group, Version: "v1", Resource: "volumesnapshotcontents"}
	if _, err := d.mapper.RESTMapping(schema.GroupKind{Group: group, Kind: "VolumeSnapshotContent"}, "v1"); err != nil {
		if meta.IsNoMatchError(err) {
			return nil, nil
		}
		return nil, err
	}
	list, err := d.dynamic.Resource(content).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for i := range list.Items {
		o := &list.Items[i]
		if driver, _, _ := unstructured.NestedString(o.Object, "spec", "driver"); driver != names.Driver {
			continue
		}
		all = append(all, o)
		ref, _, _ := unstructured.NestedMap(o.Object, "spec", "volumeSnapshotRef")
		name, _ := ref["name"].(string)
		namespace, _ := ref["namespace"].(string)
		if name != "" {
			all = append(all, bare(group+"/v1", "VolumeSnapshot", namespace, name))
		}
	}
	return all, nil
}

// abandon deletes an object and removes its finalizers, since the driver will not.
func (d *Deployment) abandon(ctx context.Context, o *unstructured.Unstructured) error {
	from, err := d.resource(o)
	if err != nil {
		return err
	}
	background := metav1.DeletePropagationBackground
	if err := ignoreNotFound(from.Delete(ctx, o.GetName(), metav1.DeleteOptions{PropagationPolicy: &background})); err != nil {
		return err
	}
	return until(ctx, from, o.GetName(), func(now *unstructured.Unstructured) bool {
		if now == nil {
			return true
		}
		if len(now.GetFinalizers()) > 0 {
			// If this fails the object stays: the next change retries, and ctx limits that.
			_, _ = from.Patch(ctx, o.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{FieldManager: fieldManager})
		}
		return false
	})
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
