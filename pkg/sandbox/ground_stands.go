package sandbox

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"

// standsOn says what the sandbox stands on: what it was started with, and which nodes its topology has now.
func (s *Sandbox) standsOn() api.Ground {
	g := s.source.Ground()
	g.Cluster = s.facts.Cluster
	if s.facts.Nodes == "" || s.facts.Nodes == api.NodesReal || s.facts.LightInPods { // whatever the topology has
		g.Nodes = s.facts.Nodes
		return g
	}
	light, others := 0, 0
	for _, r := range s.desired.Topology().Nodes() {
		if s.ground.Light(r.VM) {
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
		g.Nodes = s.facts.Nodes
	}
	return g
}
