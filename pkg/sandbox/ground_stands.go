package sandbox

import (
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// standsOn says what the sandbox stands on: what it was started with, and which nodes its topology has now.
func (s *Sandbox) standsOn() api.Ground {
	o, g := &s.opts, s.inventory()
	switch {
	case o.VCentersOnly:
		g.Cluster = api.ClusterNone
		return g
	case o.Cluster.Pod != nil:
		g.Cluster, g.Nodes = api.ClusterPod, api.NodesLight
		return g
	case o.Cluster.Theirs != nil:
		g.Cluster, g.Nodes = api.ClusterExisting, api.NodesReal
		return g
	}
	isLight, other := (*topology.VM).IsLight, api.NodesHollow
	g.Cluster = api.ClusterEmbedded
	if o.Cluster.Kind != nil {
		isLight, other = lightOnKind, api.NodesContainer
		g.Cluster = api.ClusterKind
	}
	light, others := 0, 0
	for _, r := range s.topology().Nodes() {
		if isLight(r.VM) {
			light++
		} else {
			others++
		}
	}
	switch {
	case light > 0 && others > 0:
		g.Nodes = api.NodesMixed
	case light > 0:
		g.Nodes = api.NodesLight
	case others > 0:
		g.Nodes = other
	}
	return g
}

// inventory is what the ground has of vSphere.
func (s *Sandbox) inventory() api.Ground {
	if real := s.opts.Real; real != nil {
		return api.Ground{Inventory: api.InventoryReal, Writable: real.Scope.AllowWrites}
	}
	return api.Ground{Inventory: api.InventorySimulated, Writable: true}
}
