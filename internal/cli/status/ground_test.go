package status

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

func TestGround(t *testing.T) {
	for want, g := range map[string]api.Ground{
		"": {},
		"embedded cluster, hollow and light nodes, simulated vCenters":   {Cluster: "embedded", Nodes: "mixed", Inventory: "simulated", Writable: true},
		"cluster of kind, containers as nodes, real vCenters (writable)": {Cluster: "kind", Nodes: "container", Inventory: "real", Writable: true},
		"existing cluster, light nodes, simulated vCenters":              {Cluster: "pod", Nodes: "light", Inventory: "simulated", Writable: true},
		"no cluster, real vCenters (read-only)":                          {Cluster: "none", Inventory: "real"},
		"another, of tin, real vCenters (read-only)":                     {Cluster: "another", Nodes: "of tin", Inventory: "real"},
	} {
		if got := ground(g); got != want {
			t.Errorf("%+v: %q, want %q", g, got, want)
		}
	}
}
