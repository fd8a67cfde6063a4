package kube

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// kept identifies an object with a copy in the cluster: a journal must not hold passwords.
type kept struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// copy returns the name of the copy for the call's lease.
func (k kept) copy(c *fault.Call) string { return k.Name + "-before-" + c.Lease }

// copyLabel marks every copy, with the original's name as its value.
const copyLabel = "vsphere-sandbox/copy-of"

func (k kept) copyMeta(c *fault.Call, m metav1.ObjectMeta) metav1.ObjectMeta {
	m = fresh(m)
	labels := map[string]string{copyLabel: k.Name}
	maps.Copy(labels, m.Labels)
	m.Name, m.Labels = k.copy(c), labels
	return m
}

// original undoes copyMeta.
func (k kept) original(m metav1.ObjectMeta) metav1.ObjectMeta {
	m = fresh(m)
	delete(m.Labels, copyLabel)
	if m.Name = k.Name; len(m.Labels) == 0 {
		m.Labels = nil
	}
	return m
}

// metaOf returns the metadata of a typed object.
func metaOf(obj metav1.ObjectMetaAccessor) *metav1.ObjectMeta {
	m, _ := obj.GetObjectMeta().(*metav1.ObjectMeta) // always
	return m
}

// original is the kind of the object that a fault changes, and restores from a copy.
type original[T copyable[T]] struct {
	kind  string
	where func(*fault.Call) (namespace, name string)
	in    func(c *fault.Call, namespace string) client[T]
}

// copyable is an object of the API.
type copyable[T any] interface {
	metav1.ObjectMetaAccessor
	DeepCopy() T
}

// client is what is used of the typed client for one namespace.
type client[T any] interface {
	Get(context.Context, string, metav1.GetOptions) (T, error)
	Create(context.Context, T, metav1.CreateOptions) (T, error)
	Update(context.Context, T, metav1.UpdateOptions) (T, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
}

func credentials() original[*corev1.Secret] {
	return original[*corev1.Secret]{
		kind:  "Secret",
		where: func(c *fault.Call) (string, string) { return c.Ground.Cluster.Credentials() },
		in: func(c *fault.Call, namespace string) client[*corev1.Secret] {
			return c.Ground.Cluster.Client().CoreV1().Secrets(namespace)
		},
	}
}

func cloudConfig() original[*corev1.ConfigMap] {
	return original[*corev1.ConfigMap]{
		kind:  "ConfigMap",
		where: func(c *fault.Call) (string, string) { return c.Ground.Cluster.Config() },
		in: func(c *fault.Call, namespace string) client[*corev1.ConfigMap] {
			return c.Ground.Cluster.Client().CoreV1().ConfigMaps(namespace)
		},
	}
}

// deleted returns a kind that deletes the object.
func (o original[T]) deleted(k fault.Kind) *fault.Kind {
	return fault.New(k, fault.Steps[kept]{
		Plan: func(ctx context.Context, c *fault.Call) (kept, string, error) {
			k, _, err := o.plan(ctx, c)
			return k, "delete " + o.kind + " " + k.Namespace + "/" + k.Name, err
		},
		Apply:  func(ctx context.Context, c *fault.Call, k *kept) error { return o.change(ctx, c, k, nil) },
		Revert: o.restore,
	})
}

// plan refuses a missing object.
func (o original[T]) plan(ctx context.Context, c *fault.Call) (k kept, obj T, err error) {
	k.Namespace, k.Name = o.where(c)
	obj, err = o.in(c, k.Namespace).Get(ctx, k.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		err = fault.Refuse("%s %s/%s not found", o.kind, k.Namespace, k.Name)
	}
	return k, obj, err
}

// change keeps a copy and then writes the object as edit changes it; nil deletes the object.
func (o original[T]) change(ctx context.Context, c *fault.Call, k *kept, edit func(T)) error {
	objects := o.in(c, k.Namespace)
	obj, err := objects.Get(ctx, k.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	saved := obj.DeepCopy()
	*metaOf(saved) = k.copyMeta(c, *metaOf(saved))
	if _, err := objects.Create(ctx, saved, metav1.CreateOptions{}); err != nil {
		return err
	}
	if edit == nil {
		o.report(c, k, "deleted")
		return objects.Delete(ctx, k.Name, metav1.DeleteOptions{})
	}
	o.report(c, k, "changed")
	edit(obj)
	_, err = objects.Update(ctx, obj, metav1.UpdateOptions{})
	return err
}

// restore restores the copy of change, if one exists.
func (o original[T]) restore(ctx context.Context, c *fault.Call, k *kept) error {
	objects := o.in(c, k.Namespace)
	saved, err := objects.Get(ctx, k.copy(c), metav1.GetOptions{})
	if err != nil {
		return unless(err, apierrors.IsNotFound)
	}
	back := saved.DeepCopy()
	*metaOf(back) = k.original(*metaOf(back))
	o.report(c, k, "as it was before")
	_, err = objects.Update(ctx, back, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = objects.Create(ctx, back, metav1.CreateOptions{})
	}
	if err != nil {
		return err
	}
	return unless(objects.Delete(ctx, k.copy(c), metav1.DeleteOptions{}), apierrors.IsNotFound)
}

func (o original[T]) report(c *fault.Call, k *kept, message string) {
	report(c, "object.changed", event.Object{Kind: o.kind, Name: k.Name}, o.kind+" "+k.Namespace+"/"+k.Name+": "+message)
}
