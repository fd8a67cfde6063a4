package topology_test

import (
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

func ExampleLoad() {
	lab, err := topology.Load("lab.yaml", []byte(`
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: lab}
spec:
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          region: home
          hosts: [{name: "esx-{n}", replicas: 2, zone: "shelf-{n}"}]
          vms: [{name: "worker-{n}", replicas: 2, host: "esx-{n}", role: worker}]
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(lab.Count())
	for _, node := range lab.Nodes() {
		place := lab.Place(node)
		fmt.Println(node.VM.Hostname, node.InventoryPath(), place.Region, place.Zone)
	}
	// Output:
	// 1 vCenter, 1 datacenter, 2 VMs, 2 nodes
	// worker-1 /dc/vm/worker-1 home shelf-1
	// worker-2 /dc/vm/worker-2 home shelf-2
}

func ExampleErrors() {
	_, err := topology.Load("lab.yaml", []byte(`apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: lab}
spec:
  vcenters:
    - name: vc
      datacentres: []
      datacenters: [{name: dc, hosts: [{name: esx-1}], vms: [{name: w, host: exs-1}]}]
`))
	fmt.Println(err)
	// Output:
	// lab.yaml:7:7: spec.vcenters[0].datacentres: unknown key (did you mean "datacenters"?)
	// lab.yaml:8:78: spec.vcenters[0].datacenters[0].vms[0].host: host "exs-1" not found in datacenter "dc" (did you mean "esx-1"?)
}
