package csiupstream

import (
	"fmt"
	"strings"
)

// config is upstream's csi-vsphere.conf.
func (w *world) config() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[Global]\ncluster-id = %q\ncluster-distribution = \"sandbox\"\nca-file = %q\n", clusterID, w.CAFile)
	top := w.Topology()
	for i, v := range w.VCenters() {
		var datacenters []string
		for _, dc := range top.Spec.VCenters[i].Datacenters {
			datacenters = append(datacenters, dc.InventoryPath())
		}
		fmt.Fprintf(&b, "\n[VirtualCenter %q]\ninsecure-flag = \"false\"\nuser = %q\npassword = %q\nport = \"%d\"\ndatacenters = %q\n",
			v.Host(), v.User(), v.Password(), v.Port(), strings.Join(datacenters, ", "))
	}
	b.WriteString("\n[Labels]\ntopology-categories = \"k8s-region, k8s-zone\"\n")
	return b.String()
}
