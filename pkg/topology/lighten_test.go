package topology_test

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// All nodes are light ones then, also those that said what else they were, and VMs that are no nodes stay what they are.
func TestLighten(t *testing.T) {
	top, err := topology.Load("t.yaml", []byte(`
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: t}
spec:
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          clusters: [{name: c, hosts: [{name: a}]}]
          vms: [{name: cp, role: control-plane, nodes: hollow}, {name: worker, role: worker}, {name: other}]
`))
	if err != nil {
		t.Fatal(err)
	}
	top.UseLightNodes()
	for ref := range top.AllVMs() {
		if ref.VM.IsLight() != (ref.VM.Name != "other") || ref.VM.Name == "other" && ref.VM.Nodes != "" {
			t.Errorf("%s: light is %t, nodes %q", ref.VM.Name, ref.VM.IsLight(), ref.VM.Nodes)
		}
	}
	if top.Spec.Nodes != topology.NodesLight {
		t.Errorf("those to come are %q", top.Spec.Nodes)
	}
}
