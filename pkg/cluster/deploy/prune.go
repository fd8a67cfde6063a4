package deploy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

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
