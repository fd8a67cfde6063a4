package manifests

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// objects are by "Kind namespace/name".
type objects map[string]runtime.Object

// add decodes documents strictly: a field that the type does not have, or one that stands twice, is an error.
func (all objects) add(t *testing.T, source string, data []byte) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, register := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, rbacv1.AddToScheme} {
		if err := register(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	for reader := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(data))); ; {
		document := make([]byte, len(data)+1)
		n, err := reader.Read(document)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(bytes.TrimSpace(document[:n])) == 0 {
			continue
		}
		object, _, err := decoder.Decode(document[:n], nil, nil)
		if err != nil {
			t.Fatalf("%s: %v\n%s", source, err, document[:n])
		}
		key := keyOf(t, object)
		if all[key] != nil {
			t.Errorf("%s: %s is there twice", source, key)
		}
		all[key] = object
	}
}

func keyOf(t *testing.T, o runtime.Object) string {
	t.Helper()
	m, err := meta.Accessor(o)
	if err != nil {
		t.Fatal(err)
	}
	return o.GetObjectKind().GroupVersionKind().Kind + " " + m.GetNamespace() + "/" + m.GetName()
}

func (all objects) keys() []string { return slices.Sorted(maps.Keys(all)) }

// one returns the object of a type that there is one of.
func one[T runtime.Object](t *testing.T, all objects) T {
	t.Helper()
	var found []T
	for _, o := range all {
		if o, ok := o.(T); ok {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d objects of type %T among %v", len(found), *new(T), all.keys())
	}
	return found[0]
}

// pod is what the DaemonSet makes.
func pod(t *testing.T, all objects) corev1.PodTemplateSpec {
	t.Helper()
	return one[*appsv1.DaemonSet](t, all).Spec.Template
}
