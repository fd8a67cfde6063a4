package kubelet

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
)

// TestNodeID: in a guest cluster the driver knows the node by its name, and another kind of id is another service.
func TestNodeID(t *testing.T) {
	cfg := contract.Node{Name: "worker", SystemUUID: "uuid"}
	named, numbered := contract.CSIService{ByName: true}, contract.CSIService{}
	if a, b := nodeID(cfg, named), nodeID(cfg, numbered); a != "worker" || b != "uuid" {
		t.Errorf("%s and %s, want worker and uuid", a, b)
	}
	if same(named, numbered) || !same(named, named) {
		t.Error("the service stays when the kind of id changes")
	}
}
