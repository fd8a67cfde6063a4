package sandbox

import (
	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// realCloudConfig is vsphere.conf for real vCenters: where their fronts are, and the datacenters of the chosen VMs. Labels
// are asked for where any node has both.
func (s *Sandbox) realCloudConfig(at sim.CloudConfig) ([]byte, error) {
	top, tenants := s.topology(), map[string]any{}
	for _, vc := range s.vcenters {
		var datacenters []string
		for _, dc := range s.recorded(vc.Name()).Datacenters {
			datacenters = append(datacenters, dc.InventoryPath())
		}
		host, port := vc.Host(), vc.Port()
		if at.Reach != nil {
			host, port = at.Reach(vc.Name())
		}
		tenants[vc.Name()] = map[string]any{"server": host, "port": port, "datacenters": datacenters}
	}
	conf := map[string]any{
		"global": map[string]any{
			"insecureFlag": false, "caFile": at.CAFile, "secretName": at.SecretName, "secretNamespace": at.SecretNamespace,
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
