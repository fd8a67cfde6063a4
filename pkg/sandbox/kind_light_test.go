package sandbox

import (
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// On kind, light nodes are no containers; those of the control plane are, whatever the topology says.
func TestLightOnKind(t *testing.T) {
	s, _, _ := applied(t)
	s.opts.Cluster.Kind, s.opts.VCentersOnly = &Kind{}, false
	all := len(kindNodes(s.opts.Topology))
	s.opts.Topology.Lighten()
	s.light.assign(s.opts.Topology)
	control, light := 0, 0
	for _, r := range s.opts.Topology.Nodes() {
		if lightOnKind(r.VM) {
			light++
		} else {
			control++
		}
	}
	if n := len(kindNodes(s.opts.Topology)); n != control || n+light != all || light == 0 {
		t.Errorf("%d containers of %d nodes, %d of the control plane, %d light", n, all, control, light)
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
	s.opts.Light = true
	if _, err := lines(t.Context(), c, api.ApplyRequest{Topology: text}); err != nil {
		t.Fatal(err)
	}
	nodes := s.topology().Nodes()
	for _, r := range nodes {
		if !r.VM.IsLight() {
			t.Errorf("%s is %q", r.VM.Name, r.VM.Nodes)
		}
	}
	if len(nodes) == 0 {
		t.Error("no nodes")
	}
}

// Each VM has an address of its own, always the same, and what nobody has any more is had again.
func TestFarEnd(t *testing.T) {
	vm := func(n int) vmKey { return vmKey{"vc", ref{Type: "VirtualMachine", Value: strconv.Itoa(n)}} }
	gone := map[vmKey]bool{}
	there := func(k vmKey) bool { return !gone[k] }
	f := farEnd{subnet: netip.MustParsePrefix("172.18.0.0/16")}
	for n, want := range []string{"172.18.255.254", "172.18.255.253", "172.18.255.254"} {
		if got, err := f.of(vm(n%2), there); err != nil || got.String() != want {
			t.Errorf("%v, %v; want %s", got, err, want)
		}
	}
	f = farEnd{subnet: netip.MustParsePrefix("10.9.8.64/28")}
	for n := range 6 {
		if a, err := f.of(vm(n), there); err != nil || a.String() != "10.9.8."+strconv.Itoa(78-n) {
			t.Errorf("%d: %s, %v", n, a, err)
		}
	}
	if a, err := f.of(vm(6), there); err == nil || !strings.Contains(err.Error(), "10.9.8.64/28") {
		t.Errorf("the seventh of six: %s, %v", a, err)
	}
	gone[vm(2)] = true
	if a, err := f.of(vm(6), there); err != nil || a.String() != "10.9.8.76" {
		t.Errorf("in the place of one that is gone: %s, %v", a, err)
	}
}
