package csi

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/objects"
)

// ClusterID returns an id that distinguishes the volumes of this cluster from those of other clusters in the same vCenters. It
// stays the same as long as the cluster exists.
func (d *Driver) ClusterID(ctx context.Context) (string, error) {
	ns, err := d.Cluster().Client().CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return string(ns.UID), nil
}

// applyNodeAccount creates the account that nodes share, and the namespace that it is in.
func (d *Driver) applyNodeAccount(ctx context.Context) error {
	client, err := dynamic.NewForConfig(d.Cluster().REST())
	if err != nil {
		return err
	}
	account := &corev1.ServiceAccount{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: metav1.ObjectMeta{Name: objects.Node, Namespace: objects.DefaultNamespace},
	}
	return applyAll(ctx, client, []runtime.Object{objects.Namespace(d.Config()), account}, 1)
}

// createdAtOnce is how many objects are created at the same time.
const createdAtOnce = 16

// applyObjects creates what a cluster needs for the driver, at once but for the class, whose kind has to be there first.
func (d *Driver) applyObjects(ctx context.Context) error {
	all, err := objects.All(d.Config())
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(d.Cluster().REST())
	if err != nil {
		return err
	}
	last := len(all) - 1
	if err := applyAll(ctx, client, all[:last], createdAtOnce); err != nil {
		return err
	}
	return applyAll(ctx, client, all[last:], 1)
}

// applyAll creates objects, so many at once.
func applyAll(ctx context.Context, client dynamic.Interface, all []runtime.Object, atOnce int) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, o := range all {
		g.Go(func() error {
			raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
			if err != nil {
				return err
			}
			u := &unstructured.Unstructured{Object: raw}
			if err := createAny(ctx, client, u); err != nil {
				return fmt.Errorf("%s %s: %w", u.GetKind(), u.GetName(), err)
			}
			return nil
		})
	}
	return g.Wait()
}

// Config is what the objects depend on.
func (d *Driver) Config() objects.Config {
	c := objects.Config{SecretNamespace: d.SecretNamespace, SecretNames: []string{d.SecretName}, FSGroupPolicy: storagev1.NoneFSGroupPolicy, NoStorageClasses: d.asGuest(d.Options), Capacity: d.capacities(d.Options), LeaderElection: d.Options.elects(), Replicas: d.Options.elects()}
	seen := map[string]bool{}
	for _, vc := range d.Topology.Spec.VCenters {
		for _, p := range vc.Policies {
			if !seen[p.Name] {
				seen[p.Name] = true
				c.Policies = append(c.Policies, p.Name)
			}
		}
	}
	return c
}

// fieldManager is whose the fields of such objects are.
const fieldManager = "vsphere-sandbox"

// createAny creates an object of any kind; one that is there already is made the same. It is applied, not created: for two
// seconds after a kind was defined the API server lets creations of it wait two seconds.
func createAny(ctx context.Context, client dynamic.Interface, o *unstructured.Unstructured) error {
	gvr, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
	namespaced := client.Resource(gvr)
	var into dynamic.ResourceInterface = namespaced
	if ns := o.GetNamespace(); ns != "" {
		into = namespaced.Namespace(ns)
	}
	_, err := into.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if apierrors.IsNotFound(err) { // an API server that makes nothing by that, as client-go's fake is
		_, err = into.Create(ctx, o, metav1.CreateOptions{})
	}
	if err == nil && o.GetKind() == "CustomResourceDefinition" {
		err = deploy.Established(ctx, into, o.GetName())
	}
	return err
}
