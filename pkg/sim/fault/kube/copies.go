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

// changeSecret keeps a copy and then writes what edit makes of the data; nil deletes the Secret.
func (k kept) changeSecret(ctx context.Context, c *fault.Call, edit func(map[string][]byte) map[string][]byte) error {
	secrets := c.Ground.Cluster.Client().CoreV1().Secrets(k.Namespace)
	s, err := secrets.Get(ctx, k.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	saved := s.DeepCopy()
	saved.ObjectMeta = k.copyMeta(c, s.ObjectMeta)
	if _, err := secrets.Create(ctx, saved, metav1.CreateOptions{}); err != nil {
		return err
	}
	if edit == nil {
		k.report(c, "Secret", "deleted")
		return secrets.Delete(ctx, k.Name, metav1.DeleteOptions{})
	}
	k.report(c, "Secret", "changed")
	s.Data = edit(s.Data)
	_, err = secrets.Update(ctx, s, metav1.UpdateOptions{})
	return err
}

// restoreSecret restores the copy of changeSecret, if one exists.
func (k kept) restoreSecret(ctx context.Context, c *fault.Call) error {
	secrets := c.Ground.Cluster.Client().CoreV1().Secrets(k.Namespace)
	saved, err := secrets.Get(ctx, k.copy(c), metav1.GetOptions{})
	if err != nil {
		return unless(err, apierrors.IsNotFound)
	}
	back := saved.DeepCopy()
	back.ObjectMeta = k.original(saved.ObjectMeta)
	k.report(c, "Secret", "as it was before")
	if _, err := secrets.Update(ctx, back, metav1.UpdateOptions{}); apierrors.IsNotFound(err) {
		_, err = secrets.Create(ctx, back, metav1.CreateOptions{})
		if err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	return unless(secrets.Delete(ctx, saved.Name, metav1.DeleteOptions{}), apierrors.IsNotFound)
}

// changeConfig and restoreConfig do the same for a ConfigMap.
func (k kept) changeConfig(ctx context.Context, c *fault.Call, edit func(map[string]string) map[string]string) error {
	maps := c.Ground.Cluster.Client().CoreV1().ConfigMaps(k.Namespace)
	m, err := maps.Get(ctx, k.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	saved := m.DeepCopy()
	saved.ObjectMeta = k.copyMeta(c, m.ObjectMeta)
	if _, err := maps.Create(ctx, saved, metav1.CreateOptions{}); err != nil {
		return err
	}
	if edit == nil {
		k.report(c, "ConfigMap", "deleted")
		return maps.Delete(ctx, k.Name, metav1.DeleteOptions{})
	}
	k.report(c, "ConfigMap", "changed")
	m.Data = edit(m.Data)
	_, err = maps.Update(ctx, m, metav1.UpdateOptions{})
	return err
}

func (k kept) restoreConfig(ctx context.Context, c *fault.Call) error {
	maps := c.Ground.Cluster.Client().CoreV1().ConfigMaps(k.Namespace)
	saved, err := maps.Get(ctx, k.copy(c), metav1.GetOptions{})
	if err != nil {
		return unless(err, apierrors.IsNotFound)
	}
	back := saved.DeepCopy()
	back.ObjectMeta = k.original(saved.ObjectMeta)
	k.report(c, "ConfigMap", "as it was before")
	if _, err := maps.Update(ctx, back, metav1.UpdateOptions{}); apierrors.IsNotFound(err) {
		_, err = maps.Create(ctx, back, metav1.CreateOptions{})
		if err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	return unless(maps.Delete(ctx, saved.Name, metav1.DeleteOptions{}), apierrors.IsNotFound)
}

func (k kept) report(c *fault.Call, kind, message string) {
	report(c, "object.changed", event.Object{Kind: kind, Name: k.Name}, kind+" "+k.Namespace+"/"+k.Name+": "+message)
}

// planSecret and planConfig refuse missing objects.
func planSecret(ctx context.Context, c *fault.Call) (k kept, s *corev1.Secret, err error) {
	k.Namespace, k.Name = c.Ground.Cluster.Credentials()
	s, err = c.Ground.Cluster.Client().CoreV1().Secrets(k.Namespace).Get(ctx, k.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		err = fault.Refuse("Secret %s/%s not found", k.Namespace, k.Name)
	}
	return k, s, err
}

func planConfig(ctx context.Context, c *fault.Call) (k kept, m *corev1.ConfigMap, err error) {
	k.Namespace, k.Name = c.Ground.Cluster.Config()
	m, err = c.Ground.Cluster.Client().CoreV1().ConfigMaps(k.Namespace).Get(ctx, k.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		err = fault.Refuse("ConfigMap %s/%s not found", k.Namespace, k.Name)
	}
	return k, m, err
}
