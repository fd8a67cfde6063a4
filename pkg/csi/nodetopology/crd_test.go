package nodetopology_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/nodetopology"
)

func TestCRD(t *testing.T) {
	var u unstructured.Unstructured
	if err := yaml.UnmarshalStrict(nodetopology.CRD(), &u.Object); err != nil {
		t.Fatal(err)
	}
	r := nodetopology.Resource()
	if got, want := u.GetName(), r.Resource+"."+r.Group; got != want {
		t.Errorf("name %q, want %q", got, want)
	}
	if kind, _, _ := unstructured.NestedString(u.Object, "spec", "names", "kind"); kind != nodetopology.Kind {
		t.Errorf("kind %q", kind)
	}
}
