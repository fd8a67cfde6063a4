package supervisor

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

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

// first are the definitions without which no guest cluster can start.
func first() []string { return []string{"virtualmachines", "virtualmachineservices", "clusters"} }

// readDefinitions returns the resource definitions, as JSON: the first ones, or the others.
func readDefinitions(isFirst bool) (all [][]byte, err error) {
	paths, err := fs.Glob(definitions, "crds/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if slices.Contains(first(), strings.TrimSuffix(filepath.Base(path), ".yaml")) != isFirst {
			continue
		}
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

// define creates resource definitions and returns when the API server serves them. Those of an earlier start stay.
func define(ctx context.Context, core rest.Interface, client dynamic.Interface, isFirst bool) error {
	all, err := readDefinitions(isFirst)
	if err != nil {
		return err
	}
	g, creating := errgroup.WithContext(ctx)
	names := map[string]bool{}
	for _, body := range all {
		var object struct{ Metadata metav1.ObjectMeta }
		if err := json.Unmarshal(body, &object); err != nil {
			return err
		}
		names[object.Metadata.Name] = true
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
	return awaitEstablished(ctx, client, names)
}

// awaitEstablished returns when the definitions with those names are served.
func awaitEstablished(ctx context.Context, client dynamic.Interface, names map[string]bool) error {
	list, err := client.Resource(definitionResource()).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	served := map[string]bool{}
	note := func(o *unstructured.Unstructured) {
		if names[o.GetName()] && established(o) {
			served[o.GetName()] = true
		}
	}
	for i := range list.Items {
		note(&list.Items[i])
	}
	if len(served) == len(names) {
		return nil
	}
	w, err := client.Resource(definitionResource()).Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		return err
	}
	defer w.Stop()
	for len(served) < len(names) {
		select {
		case e, ok := <-w.ResultChan():
			if !ok {
				return awaitEstablished(ctx, client, names)
			}
			if o, isObject := e.Object.(*unstructured.Unstructured); isObject {
				note(o)
			}
		case <-ctx.Done():
			return fmt.Errorf("resource definitions: %d of %d are served: %w", len(served), len(names), context.Cause(ctx))
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
