package existing

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// fieldManager is whose the fields of objects are that are applied.
const fieldManager = installer

// Secret is the name of the Secret that the chart's feed.secretName has by default.
const Secret = "vsphere-sandbox-feed"

// Feed is what the stream of machines is protected with: PEM, and a token that whoever asks has to show.
type Feed struct{ CA, Cert, Key, Token []byte }

// FeedHost is the name by which light nodes ask for it, which the certificate has to be for.
func FeedHost(name string) string { return "sandbox." + NamespaceOf(name) + ".svc" }

// furniture are the objects of an installation that no chart has: the namespace, and what is secret.
func furniture(name string, f Feed) []*unstructured.Unstructured {
	labels := map[string]any{}
	for key, value := range chartLabels(name) {
		labels[key] = value
	}
	return []*unstructured.Unstructured{
		{Object: map[string]any{
			"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": NamespaceOf(name), "labels": labels},
		}},
		{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "type": string(corev1.SecretTypeOpaque),
			"metadata": map[string]any{"name": Secret, "namespace": NamespaceOf(name), "labels": labels},
			"stringData": map[string]any{
				"ca.crt": string(f.CA), "tls.crt": string(f.Cert), "tls.key": string(f.Key), "token": string(f.Token),
			},
		}},
	}
}

// atOnce is how many objects are applied at the same time.
const atOnce = 8

// Install applies the namespace of a sandbox, its Secret and the chart's objects, in an order in which each finds what it
// needs. What it has applied when it fails is for [Cluster.Remove].
func (c *Cluster) Install(ctx context.Context, name string, f Feed, objects []*unstructured.Unstructured) error {
	client, err := dynamic.NewForConfig(c.REST())
	if err != nil {
		return err
	}
	return c.explain(ctx, install(ctx, client, append(furniture(name, f), objects...)))
}

func install(ctx context.Context, client dynamic.Interface, objects []*unstructured.Unstructured) error {
	for len(objects) > 0 {
		n := 1
		for n < len(objects) && turn(objects[n].GetKind()) == turn(objects[0].GetKind()) {
			n++
		}
		g, each := errgroup.WithContext(ctx)
		g.SetLimit(atOnce)
		for _, o := range objects[:n] {
			g.Go(func() error {
				if err := apply(each, client, o); err != nil {
					return fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		objects = objects[n:]
	}
	return nil
}

func apply(ctx context.Context, client dynamic.Interface, o *unstructured.Unstructured) error {
	resource, err := resourceOf(o.GroupVersionKind())
	if err != nil {
		return err
	}
	var into dynamic.ResourceInterface = client.Resource(resource)
	if ns := o.GetNamespace(); ns != "" {
		into = client.Resource(resource).Namespace(ns)
	}
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	_, err = into.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	return err
}
