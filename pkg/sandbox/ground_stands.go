package sandbox

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"

// standsOn returns what the sandbox was started with, and which nodes its topology has now.
func (s *Sandbox) standsOn() api.Ground {
	g := s.source.Ground()
	g.Cluster, g.Nodes = s.facts.Cluster, s.ground.Nodes(s.desired.Topology())
	return g
}
