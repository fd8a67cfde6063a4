package status

import (
	"cmp"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// ground says what a sandbox stands on: "cluster of kind, containers as nodes, real vCenters (read-only)". It is "" for a sandbox of
// another version, which does not tell.
func ground(g api.Ground) string {
	var parts []string
	cluster := map[string]string{
		api.ClusterEmbedded: "embedded cluster", api.ClusterKind: "cluster of kind", api.ClusterPod: "existing cluster",
		api.ClusterExisting: "existing cluster",
		api.ClusterNone:     "no cluster",
	}
	nodes := map[string]string{
		api.NodesHollow: "hollow nodes", api.NodesLight: "light nodes", api.NodesMixed: "hollow and light nodes",
		api.NodesContainer: "containers as nodes", api.NodesReal: "real nodes",
	}
	if g.Cluster == api.ClusterKind {
		nodes[api.NodesMixed] = "containers and light nodes"
	}
	for _, part := range []string{cmp.Or(cluster[g.Cluster], g.Cluster), cmp.Or(nodes[g.Nodes], g.Nodes)} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if g.Inventory != "" {
		vcenters := g.Inventory + " vCenters"
		if real := g.Real(); real != "" {
			vcenters += " (" + real + ")"
		}
		parts = append(parts, vcenters)
	}
	return strings.Join(parts, ", ")
}
