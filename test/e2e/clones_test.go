package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// pool has templates, and a rule that makes some of their clones nodes.
const pool = `apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: pool}
spec:
  vcenters:
    - name: us
      reactions: {guest: {boot: 1s}}
      datacenters:
        - name: dc
          region: us
          networks: [{name: nodes, cidr: 10.44.0.0/24}]
          clusters: [{name: c, zone: us-a, hosts: [{name: esx-1, memory: 64Gi}]}]
          vms:
            - {name: first, role: worker, cluster: c}
            - {name: image, template: yes, cluster: c, clones: {role: worker, match: "pool-*"}}
            - {name: light-image, template: yes, cluster: c, clones: {role: worker, nodes: light}}
`

// joinTime is from a clone's boot to its initialized Node.
const joinTime = 5 * time.Second

// A clone of a template with a rule joins the cluster as a node, is initialized, and goes with its VM.
func TestClonesJoin(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	s := h.up("pool", h.File("pool.yaml", pool))
	has := func(name string) bool {
		return slices.ContainsFunc(s.Nodes(), func(n api.Node) bool { return n.Name == name && well(n) })
	}
	s.Run("govc", "vm.clone", "-vm", "image", "-on=true", "other")
	for template, clone := range map[string]string{"image": "pool-1", "light-image": "small-1"} {
		s.Run("govc", "vm.clone", "-vm", template, "-on=true", clone)
		s.Await(clone+" is a node", reaction, func() bool { return has(clone) })
		n := s.Node(clone)
		if n.Zone != "us-a" || len(n.Addresses) == 0 {
			t.Errorf("%s is %+v", clone, n)
		}
		at := func(kind, message string) time.Time {
			events := s.Since(0, kind)
			i := slices.IndexFunc(events, func(e event.Event) bool { return e.Object.Name == clone && strings.Contains(e.Message, message) })
			if i < 0 {
				t.Fatalf("%s: no %s in %v", clone, kind, events)
			}
			return events[i].Time
		}
		if took := at("node.untainted", "uninitialized").Sub(at("guest.up", "")); took > joinTime {
			t.Errorf("%s is initialized %s after its boot, want %s", clone, took, joinTime)
		} else {
			t.Logf("%s is initialized %s after its boot", clone, took)
		}
		s.Run("govc", "vm.destroy", clone)
		s.Await(clone+" is gone", reaction, func() bool {
			return !slices.ContainsFunc(s.Nodes(), func(n api.Node) bool { return n.Name == clone && n.Registered })
		})
	}
	if slices.ContainsFunc(s.Nodes(), func(n api.Node) bool { return n.Name == "other" }) {
		t.Error("a clone whose name does not match is a node")
	}
}
