package supervisor

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

//go:embed crds/*.yaml
var definitions embed.FS

func definitionResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}

// readDefinitions returns the resource definitions, as JSON.
func readDefinitions() (all [][]byte, err error) {
	paths, err := fs.Glob(definitions, "crds/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		text, err := definitions.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var object map[string]any
		if err := yaml.Unmarshal(text, &object); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		body, err := json.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, body)
	}
	return all, nil
}

// define creates the resource definitions and returns when the API server serves them. Those of an earlier start stay.
func define(ctx context.Context, core rest.Interface, client dynamic.Interface) error {
	all, err := readDefinitions()
	if err != nil {
		return err
	}
	g, creating := errgroup.WithContext(ctx)
	for _, body := range all {
		g.Go(func() error {
			err := core.Post().AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").Body(body).SetHeader("Content-Type", "application/json").Do(creating).Error()
			if err != nil && !apierrors.IsAlreadyExists(err) {
				return fmt.Errorf("resource definition: %w", err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return awaitEstablished(ctx, client, len(all))
}

// awaitEstablished returns when that many definitions are served.
func awaitEstablished(ctx context.Context, client dynamic.Interface, n int) error {
	list, err := client.Resource(definitionResource()).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	served := map[string]bool{}
	for i := range list.Items {
		if established(&list.Items[i]) {
			served[list.Items[i].GetName()] = true
		}
	}
	if len(served) >= n {
		return nil
	}
	w, err := client.Resource(definitionResource()).Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		return err
	}
	defer w.Stop()
	for len(served) < n {
		select {
		case e, ok := <-w.ResultChan():
			if !ok {
				return awaitEstablished(ctx, client, n)
			}
			if o, isObject := e.Object.(*unstructured.Unstructured); isObject && established(o) {
				served[o.GetName()] = true
			}
		case <-ctx.Done():
			return fmt.Errorf("resource definitions: %d of %d are served: %w", len(served), n, context.Cause(ctx))
		}
	}
	return nil
}

func established(o *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == "Established" && m["status"] == "True" {
			return true
		}
	}
	return false
}
