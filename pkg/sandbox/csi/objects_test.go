package csi

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/objects"
)

// Every object is created as a resource of its kind. An object of a kind that is not served would be lost.
func TestCreateAny(t *testing.T) {
	all, err := objects.All(objects.Config{Policies: []string{"gold"}})
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]int{}
	client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	client.PrependReactor("*", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		made[a.GetResource().Resource]++
		return true, &unstructured.Unstructured{Object: map[string]any{}}, nil
	})
	for _, o := range all {
		raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{Object: raw}
		if u.GetKind() == "CustomResourceDefinition" {
			continue // see deploy.Established
		}
		if err := createAny(t.Context(), client, u); err != nil {
			t.Errorf("%s %s: %v", u.GetKind(), u.GetName(), err)
		}
	}
	for resource, want := range map[string]int{"namespaces": 1, "serviceaccounts": 7, "csidrivers": 1, "storageclasses": 3, "volumesnapshotclasses": 1} {
		if made[resource] != want {
			t.Errorf("%d %s, want %d", made[resource], resource, want)
		}
	}
}
