package cloudconfig

import (
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// RenderReal returns vsphere.conf for real vCenters: their fronts, and the datacenters of the topology that was recorded from
// them. It asks for labels if any node has both a region and a zone.
func RenderReal(c sim.CloudConfig, top *topology.Topology, all vcenters.List) ([]byte, error) {
	tenants := map[string]any{}
	for _, vc := range all {
		var datacenters []string
		if i := slices.IndexFunc(top.Spec.VCenters, func(v topology.VCenter) bool { return v.Name == vc.Name() }); i >= 0 {
			for _, dc := range top.Spec.VCenters[i].Datacenters {
				datacenters = append(datacenters, dc.InventoryPath())
			}
		}
		host, port := vc.Host(), vc.Port()
		if c.Reach != nil {
			host, port = c.Reach(vc.Name())
		}
		tenants[vc.Name()] = map[string]any{"server": host, "port": port, "datacenters": datacenters}
	}
	conf := map[string]any{
		"global": map[string]any{
			"insecureFlag": false, "caFile": c.CAFile, "secretName": c.SecretName, "secretNamespace": c.SecretNamespace,
		},
		"vcenter": tenants,
	}
	for vm := range top.AllVMs() {
		if p := top.Place(vm); vm.VM.IsNode() && p.Region != "" && p.Zone != "" {
			conf["labels"] = map[string]any{"region": top.Spec.Categories.Region, "zone": top.Spec.Categories.Zone}
			break
		}
	}
	return yaml.Marshal(conf)
}
