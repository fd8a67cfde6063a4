package sandbox

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// On kind, light nodes are no containers; control-plane nodes always are.
func TestLightOnKind(t *testing.T) {
	s, _, _ := applied(t)
	s.opts.Cluster.Kind, s.opts.VCentersOnly = &kind.Options{}, false
	s.standOn(s.newGround())
	s.opts.Topology.UseLightNodes()
	s.nodes.Assign(s.opts.Topology, nil)
	control, light, found := 0, 0, 0
	for _, r := range s.opts.Topology.Nodes() {
		if s.ground.Light(r.VM) {
			light++
		} else {
			control++
		}
	}
	if light == 0 {
		t.Error("no light nodes")
	}
	for _, v := range s.world.VMs() {
		if s.nodes.IsLight(v) {
			found++
		}
	}
	if found != light {
		t.Errorf("%d light nodes are known, want %d", found, light)
	}
	want := api.NodesLight
	if control > 0 {
		want = api.NodesMixed
	}
	if g := s.standsOn(); g.Cluster != api.ClusterKind || g.Nodes != want {
		t.Errorf("stands on %+v", g)
	}
}

// A topology that is applied later has light nodes, too, where the sandbox has.
func TestLightStays(t *testing.T) {
	s, c, text := applied(t)
	s.opts.Light, s.desired.Light = true, true
	if _, err := lines(t.Context(), c, api.ApplyRequest{Topology: text}); err != nil {
		t.Fatal(err)
	}
	nodes := s.desired.Topology().Nodes()
	for _, r := range nodes {
		if !r.VM.IsLight() {
			t.Errorf("%s is %q", r.VM.Name, r.VM.Nodes)
		}
	}
	if len(nodes) == 0 {
		t.Error("no nodes")
	}
}
