package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// until watches one object until done says so; o is nil once it is gone.
func until(ctx context.Context, from dynamic.ResourceInterface, name string, done func(o *unstructured.Unstructured) bool) error {
	for {
		ended, err := untilOnce(ctx, from, name, done)
		if ended || err != nil {
			return err
		}
	}
}

func untilOnce(ctx context.Context, from dynamic.ResourceInterface, name string, done func(o *unstructured.Unstructured) bool) (bool, error) {
	list, err := from.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		return false, err
	}
	var found *unstructured.Unstructured
	for i := range list.Items {
		if list.Items[i].GetName() == name {
			found = &list.Items[i]
		}
	}
	if done(found) {
		return true, nil
	}
	w, err := from.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name, ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		return false, err
	}
	defer w.Stop()
	for {
		select {
		case e, ok := <-w.ResultChan():
			if !ok {
				return false, ctx.Err() // API servers end watches: another list
			}
			o, ok := e.Object.(*unstructured.Unstructured)
			if !ok {
				if err := apierrors.FromObject(e.Object); !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
					return false, err
				}
				return false, nil
			}
			if o.GetName() != name {
				continue
			}
			if e.Type == "DELETED" {
				o = nil
			}
			if done(o) {
				return true, nil
			}
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// established waits until objects of a kind can be created.
func established(ctx context.Context, from dynamic.ResourceInterface, name string) error {
	return until(ctx, from, name, func(crd *unstructured.Unstructured) bool {
		if crd == nil {
			return false
		}
		conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
		return slices.ContainsFunc(conditions, func(c any) bool {
			m, ok := c.(map[string]any)
			return ok && m["type"] == "Established" && m["status"] == "True"
		})
	})
}

// gone deletes an object and waits until it is no more, and its pods are no more.
func gone(ctx context.Context, from dynamic.ResourceInterface, name string) error {
	foreground := metav1.DeletePropagationForeground
	err := from.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &foreground})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	err = until(ctx, from, name, func(o *unstructured.Unstructured) bool { return o == nil })
	if err != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("is not gone yet: %w", err)
	}
	return err
}
