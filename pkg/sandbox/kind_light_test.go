package sandbox

import (
	"net/netip"
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

func TestFarEnd(t *testing.T) {
	f := farEnd{subnet: netip.MustParsePrefix("172.18.0.0/16")}
	for _, want := range []string{"172.18.255.254", "172.18.255.253"} {
		if got, err := f.next(); err != nil || got.String() != want {
			t.Errorf("%v, %v; want %s", got, err, want)
		}
	}
	f = farEnd{subnet: netip.MustParsePrefix("10.9.8.64/28")}
	var last netip.Addr
	for n := 0; ; n++ {
		a, err := f.next()
		if err != nil {
			if n != 7 || last.String() != "10.9.8.72" || !strings.Contains(err.Error(), "10.9.8.64/28") {
				t.Errorf("after %d, the last of which is %s: %v", n, last, err)
			}
			break
		}
		last = a
	}
}
