package existing

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match/matchtest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// The guard lets pass the Nodes whose VM the provider finds, and one of which several are. All chosen VMs are known: no vCenter is
// out.
func TestStraysTable(t *testing.T) {
	rows, err := matchtest.Rows()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		top := &topology.Topology{Spec: topology.Spec{VCenters: []topology.VCenter{{Name: "us", Datacenters: []topology.Datacenter{{}}}}}}
		dc := &top.Spec.VCenters[0].Datacenters[0]
		for _, v := range row.VMs {
			vm := topology.VM{Name: v.Name, UUID: v.UUID, Hostname: v.HostName, NICs: []topology.NIC{{Addresses: v.Addresses}}}
			if v.Template {
				vm.Template = topology.Yes
			}
			if v.Connection == "connected" { // a topology has no other
				dc.VMs = append(dc.VMs, vm)
			}
		}
		chosen := row.VM != "" || row.Reason == string(match.Ambiguous) || row.Out != "" && row.Node.ProviderID == ""
		if stray := len(strays([]corev1.Node{*row.Node.Kube()}, top)) == 1; stray == chosen {
			t.Errorf("%s: stray %v, and its VM is %q, %s", row.Name, stray, row.VM, row.Reason)
		}
	}
}
