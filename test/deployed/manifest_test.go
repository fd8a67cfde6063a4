package deployed

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// folder has the manifests.
const folder = "../../manifests/ccm"

// manifest is its objects, in the order in which they are applied.
type manifest []*unstructured.Unstructured

// readManifest reads what kustomization.yaml lists. It reads all that kustomize would: there is nothing else in the file.
func readManifest(t *testing.T) manifest {
	t.Helper()
	var list struct {
		APIVersion, Kind string
		Resources        []string
	}
	if err := yaml.UnmarshalStrict(readFile(t, "kustomization.yaml"), &list); err != nil {
		t.Fatalf("kustomization.yaml: %v", err)
	}
	var m manifest
	for _, name := range list.Resources {
		documents := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(readFile(t, name)), 4096)
		for {
			o := &unstructured.Unstructured{}
			err := documents.Decode(&o.Object)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			m = append(m, o)
		}
	}
	return m
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// all returns the objects of a kind, as their type.
func all[T any](t *testing.T, m manifest, kind string) []T {
	t.Helper()
	var found []T
	for _, o := range m {
		if o.GetKind() != kind {
			continue
		}
		var typed T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &typed, true); err != nil {
			t.Fatalf("%s %s: %v", kind, o.GetName(), err)
		}
		found = append(found, typed)
	}
	return found
}

// edit changes the one object of a kind.
func (m manifest) edit(t *testing.T, kind string, change func(o map[string]any) error) {
	t.Helper()
	for _, o := range m {
		if o.GetKind() == kind {
			if err := change(o.Object); err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			return
		}
	}
	t.Fatalf("no %s", kind)
}
