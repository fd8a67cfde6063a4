package manifests

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
)

// With nothing set, the chart is the base: object by object, field by field.
func TestChartIsTheBase(t *testing.T) {
	base, chart := kustomized(t), helmed(t, "kube-system", "")
	if diff := cmp.Diff(base.keys(), chart.keys()); diff != "" {
		t.Errorf("objects (-kustomize +helm):\n%s", diff)
	}
	for key := range base {
		if diff := cmp.Diff(base[key], chart[key]); diff != "" {
			t.Errorf("%s (-kustomize +helm):\n%s", key, diff)
		}
	}
}

// In another namespace everything is there, but for what has to be elsewhere: the Lease, on which every release agrees,
// and events about Nodes.
func TestAnotherNamespace(t *testing.T) {
	elsewhere := map[string]bool{
		"Role kube-system/vsphere-cloud-controller-manager:leader":        true,
		"RoleBinding kube-system/vsphere-cloud-controller-manager:leader": true,
		"Role kube-system/vsphere-cloud-controller-manager:events":        true,
		"RoleBinding kube-system/vsphere-cloud-controller-manager:events": true,
		"Role default/vsphere-cloud-controller-manager:events":            true,
		"RoleBinding default/vsphere-cloud-controller-manager:events":     true,
	}
	all := helmed(t, "ccm", "")
	if base := kustomized(t); len(all) != len(base)+2 { // one more namespace with events
		t.Errorf("%d objects, %d in kube-system", len(all), len(base))
	}
	for key, o := range all {
		m, err := meta.Accessor(o)
		if err != nil {
			t.Fatal(err)
		}
		if namespace := m.GetNamespace(); namespace != "" && namespace != "ccm" && !elsewhere[key] {
			t.Errorf("%s is in namespace %s", key, namespace)
		}
	}
	if namespace := loaded(t, all).VCenters[0].Secret.Namespace; namespace != "ccm" {
		t.Errorf("vsphere.conf looks for the Secret in %s", namespace)
	}
}
