package kube

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/nodetopology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// dynamicer is an optional ability of a ground's cluster.
type dynamicer interface {
	Dynamic() (dynamic.Interface, error)
}

// topologyKind is a deleted CustomResourceDefinition with its objects.
type topologyKind struct {
	Definition map[string]any   `json:"definition"`
	Objects    []map[string]any `json:"objects,omitempty"`
}

// definitions is the resource of CustomResourceDefinitions.
func definitions() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}

func topologyKindDeleted() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "csi.topology-kind-deleted", Object: fault.Sandbox, Needs: []fault.Need{fault.Clustered}, Aspect: "topology-kind",
		Short: "deletes the CustomResourceDefinition CSINodeTopology, and all objects of it",
		Long: "By these objects a node's CSI driver asks in which zone it is. Nodes that are registered do not notice; one that boots or whose kubelet starts again gets no " +
			"answer, and takes no volumes: upstream's node plugin crashes again and again, ours waits. Healing creates the definition and the objects again.",
		Reported: []string{"vsphere-csi-driver#1661", "vsphere-csi-driver#2552", "vsphere-csi-driver#3368"},
	}, fault.Steps[topologyKind]{
		Plan: func(ctx context.Context, c *fault.Call) (k topologyKind, _ string, _ error) {
			client, err := anything(c)
			if err != nil {
				return k, "", err
			}
			name := nodetopology.Resource().GroupResource().String()
			d, err := client.Resource(definitions()).Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return k, "", fault.Refuse("CustomResourceDefinition %s not found", name)
			}
			if err != nil {
				return k, "", err
			}
			all, err := client.Resource(nodetopology.Resource()).List(ctx, metav1.ListOptions{})
			if err != nil {
				return k, "", err
			}
			k.Definition = recreated(d)
			for i := range all.Items {
				k.Objects = append(k.Objects, recreated(&all.Items[i]))
			}
			return k, fmt.Sprintf("delete CustomResourceDefinition %s, with %d objects", name, len(k.Objects)), nil
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *topologyKind) error {
			client, err := anything(c)
			if err != nil {
				return err
			}
			name := nodetopology.Resource().GroupResource().String()
			report(c, "object.changed", event.Object{Kind: "CustomResourceDefinition", Name: name}, "CustomResourceDefinition "+name+": deleted")
			return client.Resource(definitions()).Delete(ctx, name, metav1.DeleteOptions{})
		},
		Revert: func(ctx context.Context, c *fault.Call, k *topologyKind) error {
			client, err := anything(c)
			if err != nil {
				return err
			}
			if err := createWhenGone(ctx, client.Resource(definitions()), k.Definition); err != nil {
				return err
			}
			for _, o := range k.Objects {
				if err := createWhenServed(ctx, client.Resource(nodetopology.Resource()), o); err != nil {
					return err
				}
			}
			return nil
		},
	})
}

// anything returns a client for objects of all kinds.
func anything(c *fault.Call) (dynamic.Interface, error) {
	d, ok := c.Ground.Cluster.(dynamicer)
	if !ok {
		return nil, &fault.Refusal{Code: "unsupported", Message: "the cluster is none whose kinds can be changed here"}
	}
	return d.Dynamic()
}

// recreated returns the object to create again. Its owners have not changed and stay.
func recreated(o *unstructured.Unstructured) map[string]any {
	o = o.DeepCopy()
	owners := o.GetOwnerReferences()
	meta := fresh(metav1.ObjectMeta{Name: o.GetName(), Labels: o.GetLabels(), Annotations: o.GetAnnotations()})
	delete(o.Object, "status")
	delete(o.Object, "metadata")
	o.SetName(meta.Name)
	o.SetLabels(meta.Labels)
	o.SetAnnotations(meta.Annotations)
	o.SetOwnerReferences(owners)
	return o.Object
}

// createWhenGone creates an object once its predecessor is gone, unless it exists.
func createWhenGone(ctx context.Context, into dynamic.ResourceInterface, object map[string]any) error {
	return persist(ctx, func() (bool, error) {
		o := &unstructured.Unstructured{Object: object}
		_, err := into.Create(ctx, o.DeepCopy(), metav1.CreateOptions{})
		if !apierrors.IsAlreadyExists(err) {
			return err == nil, err
		}
		is, err := into.Get(ctx, o.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil && is.GetDeletionTimestamp() == nil, err
	})
}

// createWhenServed creates an object once its kind is served, unless it exists.
func createWhenServed(ctx context.Context, into dynamic.ResourceInterface, object map[string]any) error {
	return persist(ctx, func() (bool, error) {
		_, err := into.Create(ctx, (&unstructured.Unstructured{Object: object}).DeepCopy(), metav1.CreateOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		err = unless(err, apierrors.IsAlreadyExists)
		return err == nil, err
	})
}

// persist polls f until it is done or fails; what it waits for cannot be watched.
func persist(ctx context.Context, f func() (done bool, err error)) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if done, err := f(); done || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
