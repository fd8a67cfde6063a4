package controlplane

import (
	"strings"
	"testing"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// Every bootstrap object has its own key, and an API server reads from etcd what was written.
func TestBootstrapObjects(t *testing.T) {
	encoder, err := storageEncoder()
	if err != nil {
		t.Fatal(err)
	}
	seen, resources := map[string]bool{}, map[string]int{}
	for _, o := range bootstrapObjects("/registry") {
		if seen[o.key] {
			t.Errorf("%s: twice", o.key)
		}
		seen[o.key] = true
		resources[strings.Split(o.key, "/")[2]]++
		value, err := runtime.Encode(encoder, o.Object)
		if err != nil {
			t.Fatalf("%s: %v", o.key, err)
		}
		read, err := runtime.Decode(legacyscheme.Codecs.UniversalDeserializer(), value)
		if err != nil {
			t.Fatalf("%s: %v", o.key, err)
		}
		o.GetObjectKind().SetGroupVersionKind(read.GetObjectKind().GroupVersionKind())
		if !strings.HasPrefix(string(value), "k8s\x00") || !apiequality.Semantic.DeepEqual(read, o.Object) {
			t.Errorf("%s: %+v was written, %+v is read", o.key, o.Object, read)
		}
	}
	for _, key := range []string{
		"/registry/clusterroles/system:node", "/registry/clusterrolebindings/cluster-admin", "/registry/roles/kube-system/extension-apiserver-authentication-reader",
		"/registry/rolebindings/kube-public/system:controller:bootstrap-signer", "/registry/priorityclasses/system-cluster-critical",
	} {
		if !seen[key] {
			t.Errorf("there is no %s: %v", key, resources)
		}
	}
}
