package sim_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// A CSI driver finds every vCenter where it reaches it, with its certificate, its datacenters, and the topology of the nodes.
func TestCSIConfig(t *testing.T) {
	lab := sim.Start(t, zones)
	hosts := map[string]string{}
	want := "[Global]\ncluster-id = \"id\"\ncluster-distribution = \"vsphere-sandbox\"\nca-file = \"/etc/cloud/ca.crt\"\n"
	for i, v := range lab.VCenters() {
		hosts[v.Name()] = fmt.Sprintf("10.96.200.%d", 11+i)
		datacenters := map[string]string{"vc-us": "/americas/dcwest, /americas/dceast", "vc-eu": "/dceu"}[v.Name()]
		want += fmt.Sprintf("\n[VirtualCenter %q]\ninsecure-flag = \"false\"\nuser = \"me\"\npassword = \"a\\\"b\"\nport = \"443\"\ndatacenters = %q\n", hosts[v.Name()], datacenters)
	}
	want += "\n[Labels]\ntopology-categories = \"k8s-region, k8s-zone\"\n"
	got := string(lab.CSIConfig(sim.CSIConfig{
		ClusterID: "id", CAFile: "/etc/cloud/ca.crt",
		Reach: func(vcenter string) (string, int) { return hosts[vcenter], 443 },
		Login: func(string) (string, string) { return "me", `a"b` },
	}))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
