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
		// The cloud controller manager removes the taint before it writes the addresses.
		s.Await(clone+" has an address", reaction, func() bool { return len(s.Node(clone).Addresses) > 0 })
		if n := s.Node(clone); n.Zone != "us-a" {
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

// A clone that is a node is one after its sandbox has gone back to a snapshot, and so is the clone that is made after that.
func TestCloneSurvivesRestore(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	s := h.up("kept", h.File("pool.yaml", pool))
	has := func(name string) func() bool {
		return func() bool {
			return slices.ContainsFunc(s.Nodes(), func(n api.Node) bool { return n.Name == name && well(n) })
		}
	}
	s.Run("govc", "vm.clone", "-vm", "image", "-on=true", "pool-1")
	s.Await("pool-1 is a node", reaction, has("pool-1"))
	id := s.Node("pool-1").ProviderID
	s.Run("snapshot", "save", "with-clone")
	s.Run("govc", "vm.destroy", "pool-1")
	s.Await("pool-1 is gone", reaction, func() bool {
		return !slices.ContainsFunc(s.Nodes(), func(n api.Node) bool { return n.Name == "pool-1" && n.Registered })
	})
	s.Run("snapshot", "restore", "with-clone")
	s = h.attach("kept")
	s.Await("pool-1 is a node again", reaction, has("pool-1"))
	if now := s.Node("pool-1").ProviderID; now != id {
		t.Errorf("pool-1 has the ID %s, had %s", now, id)
	}
	// It follows its VM, as one that is no leftover does.
	s.Run("govc", "vm.power", "-off", "-force", "pool-1")
	s.Await("pool-1 is down", reaction, func() bool { return !has("pool-1")() })
	s.Run("govc", "vm.power", "-on", "pool-1")
	s.Await("pool-1 is up", reaction, has("pool-1"))
	s.Run("govc", "vm.clone", "-vm", "pool-1", "-on=true", "pool-2")
	s.Await("pool-2 is a node", reaction, has("pool-2"))
}
