package sandbox

import (
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// A light node is refused on kind before anything is asked of a container runtime: by a boot, by its plan, and later.
func TestKindTakesNoLightNodes(t *testing.T) {
	refused := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "its node is a light one") {
			t.Errorf("%s: %v", what, err)
		}
	}
	s, c, text := applied(t)
	s.opts.Cluster.Kind = &Kind{}
	if err := kindTakes(s.topology()); err != nil {
		t.Error(err)
	}
	text = strings.Replace(text, "role: worker", "role: worker\n              nodes: light", 1)
	_, err := lines(t.Context(), c, api.ApplyRequest{Topology: text})
	refused("apply", err)
	if s.opts.Topology, err = topology.Load("topology", []byte(text)); err != nil {
		t.Fatal(err)
	}
	refused("boot", (&kindCluster{s: s}).start(t.Context()))
	_, _, err = KindPlan(t.Context(), s.opts, t.TempDir())
	refused("plan", err)
}
