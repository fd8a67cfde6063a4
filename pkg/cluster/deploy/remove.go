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

// kinds are all kinds of our objects, except namespaces and CRDs, in the order of their removal: objects before the
// controllers that finalize them.
func kinds() []schema.GroupVersionKind {
	of := func(group string, names ...string) (all []schema.GroupVersionKind) {
		for _, n := range names {
			all = append(all, schema.GroupVersionKind{Group: group, Version: "v1", Kind: n})
		}
		return all
	}
	var all []schema.GroupVersionKind
	all = append(all, of("apps", "DaemonSet", "Deployment", "StatefulSet")...)
	all = append(all, of("batch", "CronJob", "Job")...)
	all = append(all, of("snapshot.storage.k8s.io", "VolumeSnapshotClass")...)
	all = append(all, of("storage.k8s.io", "StorageClass", "CSIDriver")...)
	all = append(all, of("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")...)
	all = append(all, of("policy", "PodDisruptionBudget")...)
	all = append(all, of("networking.k8s.io", "NetworkPolicy")...)
	all = append(all, of("discovery.k8s.io", "EndpointSlice")...)
	all = append(all, of("", "Service", "ConfigMap", "Secret")...)
	all = append(all, of("rbac.authorization.k8s.io", "RoleBinding", "Role", "ClusterRoleBinding", "ClusterRole")...)
	all = append(all, of("", "ServiceAccount")...)
	all = append(all, of("scheduling.k8s.io", "PriorityClass")...)
	return all
}

// kinds returns the kinds that this deployment can have. On one node it has no objects of manifests and of the CSI
// driver, and needs no permissions for their kinds.
func (d *Deployment) kinds() []schema.GroupVersionKind {
	if d.at == nil {
		return kinds()
	}
	return slices.DeleteFunc(kinds(), func(k schema.GroupVersionKind) bool {
		return slices.Contains([]string{"storage.k8s.io", "snapshot.storage.k8s.io", "batch", "policy", "networking.k8s.io", "scheduling.k8s.io", "admissionregistration.k8s.io"}, k.Group)
	})
}

// removable returns an error for an object of a kind that the sandbox could not remove again.
func removable(all []*unstructured.Unstructured) error {
	known := kinds()
	for _, o := range all {
		gk := o.GroupVersionKind().GroupKind()
		if !shared(o) && !slices.ContainsFunc(known, func(k schema.GroupVersionKind) bool { return k.GroupKind() == gk }) {
			return fmt.Errorf("%s: the sandbox cannot remove a %s again; apply it by hand, and leave it out of the manifest", title(o), gk)
		}
	}
	return nil
}

// identity is the key of an object, independent of the version of its kind.
func identity(o *unstructured.Unstructured) string {
	return strings.Join([]string{o.GroupVersionKind().Group, o.GetKind(), o.GetNamespace(), o.GetName()}, "/")
}

// marked lists our objects of a kind, of one part or, if that is "", of all.
func (d *Deployment) marked(ctx context.Context, kind schema.GroupVersionKind, part string) ([]*unstructured.Unstructured, error) {
	m, err := d.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, nil // the cluster does not have the kind
	}
	selector := d.selector()
	if part != "" {
		selector += "," + partLabel + "=" + part
	}
	list, err := d.dynamic.Resource(m.Resource).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for i := range list.Items {
		o := &list.Items[i]
		o.SetGroupVersionKind(kind)
		all = append(all, o)
	}
	return all, nil
}

// prune removes objects of a part that are not wanted any more, workloads with their pods.
func (d *Deployment) prune(ctx context.Context, part string, wanted []*unstructured.Unstructured) error {
	keep := map[string]bool{}
	for _, o := range wanted {
		keep[identity(o)] = true
	}
	for _, kind := range d.kinds() {
		existing, err := d.marked(ctx, kind, part)
		if err != nil {
			return err
		}
		var superfluous []*unstructured.Unstructured
		for _, o := range existing {
			if !keep[identity(o)] {
				superfluous = append(superfluous, o)
			}
		}
		if err := each(ctx, superfluous, d.remove); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes an object and waits until it is gone.
func (d *Deployment) remove(ctx context.Context, o *unstructured.Unstructured) error {
	from, err := d.resource(o)
	if err != nil {
		return err
	}
	d.tracker.forget(o)
	return gone(ctx, from, o.GetName())
}
