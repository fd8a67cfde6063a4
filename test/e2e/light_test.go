package e2e

import (
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// mixed has light nodes beside a hollow one, in two vCenters.
const mixed = `apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: mixed}
spec:
  vcenters:
    - name: us
      datacenters:
        - name: dcwest
          region: us
          zone: us-west
          hosts: [{name: esx-1, memory: 64Gi}]
          vms:
            - {name: hollow, role: worker}
            - {name: "light-{n}", replicas: 2, role: worker, nodes: light, cpus: 4, memory: 8Gi}
    - name: eu
      datacenters:
        - name: dceu
          region: eu
          zone: eu-all
          hosts: [{name: esx-1, memory: 64Gi}]
          vms: [{name: light-eu, role: worker, nodes: light}]
`

// A pod that leaves its node as soon as the node is lost.
const impatient = `apiVersion: v1
kind: Pod
metadata: {name: impatient}
spec:
  nodeName: light-1
  tolerations:
    - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 1}
    - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 1}
  containers: [{name: app, image: registry.invalid/app}]
`

// Light nodes live as hollow ones do, beside them: the same identity, the same taint, a lease as long as their VM is on.
func TestLightNodes(t *testing.T) {
	t.Parallel()
	want, err := topology.Load("mixed.yaml", []byte(mixed))
	if err != nil {
		t.Fatal(err)
	}
	h := newHome(t)
	s := h.up("light", h.File("mixed.yaml", mixed))
	for _, ref := range want.Nodes() {
		name := ref.VM.Hostname
		s.Await(name+" is well, with its addresses", reaction, func() bool { return well(s.Node(name)) && len(s.Node(name).Addresses) > 0 })
		checkNode(t, program.Kubectl[corev1.Node](s.Sandbox, "get", "node", name), ref, want.Place(ref))
		if own := s.Component("node/" + name).PID; (own != 0) == ref.VM.IsLight() {
			t.Errorf("node %s has a process of its own: %t", name, own != 0)
		}
	}

	s.Run("kubectl", "apply", "-f", h.File("pod.yaml", impatient))
	pod := func() corev1.Pod { return program.Kubectl[corev1.PodList](s.Sandbox, "get", "pods").Items[0] }
	s.Await("a pod runs", reaction, func() bool { return pod().Status.Phase == corev1.PodRunning })
	for _, look := range [][]string{{"logs", "impatient"}, {"exec", "impatient", "--", "true"}, {"top", "node", "light-1"}} {
		s.Try(append([]string{"--name", s.Name, "kubectl"}, look...)...).Wants(t, 1, "VM light-1 is a light node")
	}
	if top := s.Run("kubectl", "top", "nodes"); !strings.Contains(top, "hollow ") || !strings.Contains(top, "<unknown>") {
		t.Errorf("kubectl top nodes:\n%s", top)
	}
	renewed := func() time.Time {
		return program.Kubectl[coordinationv1.Lease](s.Sandbox, "get", "lease", "light-1", "-n", corev1.NamespaceNodeLease).Spec.RenewTime.Time
	}
	first := renewed()
	s.Await("its lease is renewed", reaction, func() bool { return renewed().After(first) })

	before := s.Node("light-1")
	s.vm("power-off", "light-1")
	s.Await("NotReady", reaction, func() bool { return s.Node("light-1").Ready == "Unknown" })
	s.Await("shutdown taint", reaction, func() bool { return tainted(s.Node("light-1"), taintShutdown) })
	s.Await("the pod is evicted", reaction, func() bool {
		pods := program.Kubectl[corev1.PodList](s.Sandbox, "get", "pods").Items
		return len(pods) == 0 || pods[0].DeletionTimestamp != nil
	})
	last := renewed()
	s.never("a VM that is off renews its lease, or another node suffers", 5*time.Second, func() string {
		if renewed().After(last) {
			return "renewed"
		}
		for _, other := range []string{"hollow", "light-2", "light-eu"} {
			if !well(s.Node(other)) {
				return other + " is not well"
			}
		}
		return ""
	})
	s.vm("power-on", "light-1")
	s.Await("well again", reaction, func() bool { return well(s.Node("light-1")) })
	if after := s.Node("light-1"); after.ProviderID != before.ProviderID || !after.Created.Equal(before.Created) {
		t.Errorf("the node came back as another:\nbefore %+v\nafter  %+v", before, after)
	}
	s.Await("no pod is left", reaction, func() bool { return len(program.Kubectl[corev1.PodList](s.Sandbox, "get", "pods").Items) == 0 })

	s.vm("hang", "light-2")
	s.Await("NotReady", reaction, func() bool { return s.Node("light-2").Ready == "Unknown" })
	s.never("a VM that runs is called shut down", 5*time.Second, func() string {
		if tainted(s.Node("light-2"), taintShutdown) {
			return "shutdown taint"
		}
		return ""
	})
	s.vm("reset", "light-2")
	s.Await("well again", reaction, func() bool { return well(s.Node("light-2")) })

	s.vm("destroy", "light-eu", "--yes")
	s.Await("Node object gone", reaction, func() bool { return !s.Node("light-eu").Registered })
	for _, name := range []string{"hollow", "light-1", "light-2"} {
		if !well(s.Node(name)) {
			t.Errorf("node %s is not well: %+v", name, s.Node(name))
		}
	}
}
