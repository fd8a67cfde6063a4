package csi

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
			continue // see TestEstablished
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

// A definition is waited for until it is served, and no longer than ctx.
func TestEstablished(t *testing.T) {
	gvr := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "things.example.com"},
	}}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{gvr: "CustomResourceDefinitionList"})
	if _, err := client.Resource(gvr).Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := established(short, client.Resource(gvr), crd.GetName()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("not established: %v", err)
	}
}
