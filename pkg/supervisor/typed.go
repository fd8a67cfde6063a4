package supervisor

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

// deleted returns the object of an event of an informer, nil for none.
func deleted(o any) *unstructured.Unstructured {
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	u, _ := o.(*unstructured.Unstructured)
	return u
}

func convert[T any](o *unstructured.Unstructured) (*T, error) {
	var typed T
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &typed); err != nil {
		return nil, fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return &typed, nil
}

// client404 is nil for an object that does not exist.
func client404(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// in returns the objects of a resource in a namespace, "" for a resource without.
func (st storage) in(gvr schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	all := st.dynamic.Resource(gvr)
	if namespace == "" {
		return all
	}
	return all.Namespace(namespace)
}

func fetch[T any](ctx context.Context, from dynamic.ResourceInterface, name string) (*T, error) {
	o, err := from.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return convert[T](o)
}

func unconvert(o any) (*unstructured.Unstructured, error) {
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	return &unstructured.Unstructured{Object: raw}, err
}

// establish creates an object, unless it exists.
func establish(ctx context.Context, in dynamic.ResourceInterface, o any) error {
	u, err := unconvert(o)
	if err != nil {
		return err
	}
	_, err = in.Create(ctx, u, metav1.CreateOptions{})
	return unlessExists(err)
}

// replace writes an object and returns it as it is then.
func replace[T any](ctx context.Context, in dynamic.ResourceInterface, o *T) (*T, error) {
	u, err := unconvert(o)
	if err != nil {
		return nil, err
	}
	if u, err = in.Update(ctx, u, metav1.UpdateOptions{}); err != nil {
		return nil, err
	}
	return convert[T](u)
}

// replaceStatus writes the status of an object.
func replaceStatus(ctx context.Context, in dynamic.ResourceInterface, o any) error {
	u, err := unconvert(o)
	if err != nil {
		return err
	}
	_, err = in.UpdateStatus(ctx, u, metav1.UpdateOptions{})
	return err
}
