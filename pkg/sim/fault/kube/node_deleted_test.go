package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// A Node that registers again gets back what people gave it. What the cloud provider said of it, the cloud provider has to
// say again: otherwise one that says nothing looked as if it did.
func TestPeoplesLabels(t *testing.T) {
	labels := map[string]string{
		corev1.LabelHostname: "worker-1", "rack": "a",
		corev1.LabelTopologyRegion: "us", corev1.LabelTopologyZone: "us-west", corev1.LabelInstanceTypeStable: "vsphere-vm",
	}
	if diff := cmp.Diff(map[string]string{corev1.LabelHostname: "worker-1", "rack": "a"}, peoples(labels)); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if len(labels) != 5 {
		t.Errorf("the Node's own labels were changed: %v", labels)
	}
}
