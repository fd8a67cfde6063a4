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
	"time"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/dynamic"
)

//go:embed crds/*.yaml
var definitions embed.FS

func definitionResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}

// first are the definitions without which no guest cluster can start.
func first() []string { return []string{"virtualmachines", "virtualmachineservices", "clusters"} }

// readDefinitions returns the resource definitions: those for which want returns true.
func readDefinitions(want func(file string) bool) (all []*unstructured.Unstructured, err error) {
	paths, err := fs.Glob(definitions, "crds/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if !want(strings.TrimSuffix(filepath.Base(path), ".yaml")) {
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
		o := &unstructured.Unstructured{} // with the types that JSON has
		if err := o.UnmarshalJSON(body); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, o)
	}
	return all, nil
}

// Definitions returns all resource definitions as an API server has stored those that it serves, by their names: one that begins with
// them need not establish them one after the other. A definition that cannot be read is left out: [Start] returns its error.
func Definitions() map[string][]byte {
	all, _ := readDefinitions(func(string) bool { return true })
	stored := map[string][]byte{}
	for _, o := range all {
		if body, err := json.Marshal(asServed(o)); err == nil {
			stored[o.GetName()] = body
		}
	}
	return stored
}

// definitionAge is the age of definitions in etcd. An API server refuses to create objects of one that was established less than two
// seconds ago, since other servers may not have seen it (apiextensions-apiserver, customresource_handler.go).
const definitionAge = time.Minute

// asServed adds what API server and controllers add to a definition until it is established.
func asServed(o *unstructured.Unstructured) map[string]any {
	at := time.Now().UTC().Add(-definitionAge).Format(timeFormat)
	o.SetUID(uuid.NewUUID())
	o.SetGeneration(1)
	_ = unstructured.SetNestedField(o.Object, at, "metadata", "creationTimestamp") // metadata is an object
	_ = unstructured.SetNestedMap(o.Object, map[string]any{"strategy": "None"}, "spec", "conversion")
	spec := o.Object["spec"].(map[string]any)
	names := spec["names"].(map[string]any)
	kind := names["kind"].(string)
	for field, value := range map[string]string{"singular": strings.ToLower(kind), "listKind": kind + "List"} {
		if names[field] == nil {
			names[field] = value
		}
	}
	var storage any
	for _, v := range spec["versions"].([]any) {
		if m := v.(map[string]any); m["storage"] == true {
			storage = m["name"]
		}
	}
	o.Object["status"] = map[string]any{
		"acceptedNames": names, "storedVersions": []any{storage},
		"conditions": []any{
			condition("NamesAccepted", "True", "NoConflicts", "no conflicts found", at),
			condition("Established", "True", "InitialNamesAccepted", "the initial names have been accepted", at),
		},
	}
	return o.Object
}

// define creates the resource definitions that are missing and returns when the API server serves them.
func define(ctx context.Context, client dynamic.Interface, isFirst bool) error {
	all, err := readDefinitions(func(file string) bool { return slices.Contains(first(), file) == isFirst })
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for _, o := range all {
		names[o.GetName()] = true
	}
	have, err := client.Resource(definitionResource()).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("resource definitions: %w", err)
	}
	g, creating := errgroup.WithContext(ctx)
	for _, o := range all {
		if slices.ContainsFunc(have.Items, func(h unstructured.Unstructured) bool { return h.GetName() == o.GetName() }) {
			continue
		}
		g.Go(func() error {
			if _, err := client.Resource(definitionResource()).Create(creating, o, metav1.CreateOptions{}); unlessExists(err) != nil {
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
