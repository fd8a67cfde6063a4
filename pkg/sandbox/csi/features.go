package csi

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/objects"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// featureStates returns the feature states that a driver of another project reads, from its ConfigMaps as they are now; none for a
// driver of this project.
func (d *Driver) featureStates(ctx context.Context, o Options) (all []api.FeatureStates) {
	if !o.foreign() {
		return nil
	}
	names := []string{features}
	if d.asGuest(o) {
		names = append(names, supervisorFeatures)
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	for _, name := range names {
		f := api.FeatureStates{ConfigMap: objects.DefaultNamespace + "/" + name}
		c, err := d.Cluster().Client().CoreV1().ConfigMaps(objects.DefaultNamespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			f.Error = err.Error()
		} else {
			f.States = c.Data
		}
		all = append(all, f)
	}
	return all
}

// createUnchanged is createAny, but for the values of a ConfigMap that a user has changed: the driver is to read them after a restart, as
// it does in a cluster, whose administrator applies no manifest again.
func createUnchanged(ctx context.Context, client dynamic.Interface, o *unstructured.Unstructured) error {
	if o.GetKind() != "ConfigMap" {
		return createAny(ctx, client, o)
	}
	into := client.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(o.GetNamespace())
	_, err := into.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: fieldManager})
	if !apierrors.IsConflict(err) {
		if err == nil {
			return nil
		}
		return createAny(ctx, client, o)
	}
	current, err := into.Get(ctx, o.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	wanted, _, _ := unstructured.NestedStringMap(o.Object, "data")
	has, _, _ := unstructured.NestedStringMap(current.Object, "data")
	kept := maps.Clone(wanted)
	for name, value := range has {
		if _, ok := kept[name]; ok {
			kept[name] = value
		}
	}
	same := o.DeepCopy()
	if err := unstructured.SetNestedStringMap(same.Object, kept, "data"); err != nil {
		return err
	}
	_, err = into.Apply(ctx, same.GetName(), same, metav1.ApplyOptions{FieldManager: fieldManager}) // a value that is the same is no conflict
	return err
}
