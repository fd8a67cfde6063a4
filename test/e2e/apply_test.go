package e2e

import (
	"strings"
	"testing"
	"time"
)

const livePair = `apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: live}
parameters: [{name: workers, default: 1}, {name: cpus, default: 2}]
spec:
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          clusters: [{name: c, hosts: [{name: esx-1}]}]
          vms:
            - name: w-{n}
              replicas: ${workers}
              cpus: ${cpus}
              role: worker
`

// A topology that is applied makes nodes, changes them and takes them away.
func TestTopologyApply(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	file := h.File("live.yaml", livePair)
	s := h.up("live", file)
	apply := func(args ...string) string {
		t.Helper()
		r := s.Try(append([]string{"--name", s.Name, "topology", "apply", file}, args...)...)
		if r.Code != 0 {
			t.Fatalf("topology apply %v: %s", args, r.Both())
		}
		return r.Both()
	}
	nodes := func() string {
		r := s.Try("--name", s.Name, "get", "nodes", "-o", "name")
		return r.Out
	}
	await := func(what string, done func() bool) {
		t.Helper()
		for deadline := time.Now().Add(90 * time.Second); !done(); time.Sleep(100 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %s", what, nodes())
			}
		}
	}
	if got := apply(); !strings.Contains(got, "no changes") {
		t.Errorf("the same: %s", got)
	}
	if got := apply("--set", "workers=3", "--dry-run"); !strings.Contains(got, "2 changes planned") {
		t.Errorf("dry run: %s", got)
	}
	apply("--set", "workers=3")
	await("three nodes", func() bool {
		n := s.Status().Nodes
		return n.Wanted == 3 && n.Ready == 3 && n.Initialized == 3
	})
	apply("--set", "workers=2", "--set", "cpus=4")
	await("two nodes", func() bool {
		n := s.Status().Nodes
		return n.Wanted == 2 && n.Ready == 2 && strings.Count(nodes(), "\n") == 2
	})

	// A separate datacenter, which the cloud config must name before its nodes are found.
	wider := h.File("wider.yaml", strings.NewReplacer("${workers}", "2", "${cpus}", "4").Replace(livePair)+`        - name: dc2
          hosts: [{name: esx-9, cpus: 4, memory: 32Gi}]
          datastores: [{name: far, capacity: 200Gi}]
          vms: [{name: far-1, role: worker, nics: [{addresses: [10.9.0.1/20]}]}]
`)
	s.Must("--name", s.Name, "topology", "apply", wider)
	await("a node in the new datacenter", func() bool {
		n := s.Status().Nodes
		return n.Wanted == 3 && n.Ready == 3 && n.Initialized == 3
	})
	if got := s.Must("--name", s.Name, "kubectl", "get", "configmap", "-n", "kube-system", "vsphere-cloud-config", "-o", "yaml"); !strings.Contains(got, "/dc2") {
		t.Errorf("cloud config: %s", got)
	}
	if got := s.Must("--name", s.Name, "get", "nodes", "-o", "json"); !strings.Contains(got, "10.9.0.1") {
		t.Errorf("nodes: %s", got)
	}

	// Without it, the cloud config is narrower than the one in force, which waits for a start of the cloud controller manager.
	apply("--set", "workers=2", "--set", "cpus=4")
	await("two nodes again", func() bool {
		n := s.Status().Nodes
		return n.Wanted == 2 && n.Ready == 2 && strings.Count(nodes(), "\n") == 2
	})
	restarted := s.awaitEvent(0, reaction, "ccm.restart", nil)
	s.awaitEvent(restarted.Seq, reaction, "ccm.healthy", about("ccm"))
	if restarts := s.Since(0, "ccm.restart"); len(restarts) != 1 {
		t.Errorf("the cloud controller manager was restarted by %v", restarts)
	}
}

// scaleRunning adds a VM to a group of the running sandbox, and removes it again.
func scaleRunning(s *sandbox) {
	s.Run("topology", "scale", "worker=3")
	s.Await("the new VM's node is well", bound, func() bool { return s.unwell([]string{"worker-3"}) == "" })
	if out := s.Run("topology", "scale", "worker=2"); !strings.Contains(out, "worker-3") {
		s.T.Errorf("topology scale worker=2: %s", out)
	}
	s.Await("its node is deleted", bound, func() bool { return s.Run("kubectl", "get", "node", "worker-3", "--ignore-not-found") == "" })
	s.Try("--name", s.Name, "topology", "scale", "workers=3").Wants(s.T, 2, "workers", "topology scale worker=3")
}
