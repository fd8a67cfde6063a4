package sandbox

import (
	"context"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/feed"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// On kind, light nodes are no containers; those of the control plane are, whatever the topology says.
func TestLightOnKind(t *testing.T) {
	s, _, _ := applied(t)
	s.opts.Cluster.Kind, s.opts.VCentersOnly = &kind.Options{}, false
	s.standOn(s.newGround())
	s.opts.Topology.Lighten()
	s.light.assign(s.opts.Topology)
	control, light := 0, 0
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
	if s.light.nodes != light {
		t.Errorf("%d light nodes are known, want %d", s.light.nodes, light)
	}
	want := api.NodesLight
	if control > 0 {
		want = api.NodesMixed
	}
	if g := s.standsOn(); g.Cluster != api.ClusterKind || g.Nodes != want {
		t.Errorf("stands on %+v", g)
	}
}

// A topology that is applied later is made of light nodes, too, where the sandbox is.
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

// The program of light nodes ends before their guests do: it must not take the end of the sandbox for that of the VMs.
func TestLightProgramStopsFirst(t *testing.T) {
	s := withVCenters(t, "single")
	s.opts.Topology.Lighten()
	s.light.assign(s.opts.Topology)
	s.light.begun = true // no program: what follows is in its place
	running := func() (n int) {
		for _, m := range s.light.fleet.Feed().Machines() {
			if m.State == feed.Running {
				n++
			}
		}
		return n
	}
	want, got := len(s.opts.Topology.Nodes()), -1
	s.background.Run(lightGroup, func(ctx context.Context) {
		<-ctx.Done()
		time.Sleep(100 * time.Millisecond) // a program takes its time to end
		got = running()
	})
	if err := s.startNodes(t.Context()); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); running() < want; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d light nodes run", running(), want)
		}
	}
	if err := s.stopNodes(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("%d of %d light nodes ran when the program ended", got, want)
	}
}
