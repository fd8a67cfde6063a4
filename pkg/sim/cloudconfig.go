package sim

import (
	"sigs.k8s.io/yaml"
)

// CloudConfig says how [Simulation.CloudConfig] lets clients log in and trust.
type CloudConfig struct {
	// CAFile is where the clients find [Simulation.CA].
	CAFile string
	// SecretName and SecretNamespace name the Secret with the credentials. Without them users and passwords are in the
	// configuration itself.
	SecretName, SecretNamespace string
}

// CloudConfig renders vsphere.conf, in the YAML of the upstream cloud provider, for all vCenters and datacenters. The
// labels region and zone are asked for where the topology has them: with labels configured, a node whose VM has no tags
// is never initialized, here as upstream.
func (s *Simulation) CloudConfig(c CloudConfig) ([]byte, error) {
	global := map[string]any{"insecureFlag": false, "caFile": c.CAFile}
	if c.SecretName != "" {
		global["secretName"], global["secretNamespace"] = c.SecretName, c.SecretNamespace
	}
	tenants := map[string]any{}
	for _, v := range s.vcenters {
		dcs := make([]string, len(v.spec.Datacenters))
		for i := range v.spec.Datacenters {
			dcs[i] = v.spec.Datacenters[i].InventoryPath()
		}
		tenant := map[string]any{"server": v.Host(), "port": v.Port(), "datacenters": dcs}
		if c.SecretName == "" {
			tenant["user"], tenant["password"] = v.User(), v.Password()
		}
		tenants[v.Name()] = tenant
	}
	conf := map[string]any{"global": global, "vcenter": tenants}
	if s.zoned() {
		categories := s.topology.Spec.Categories
		conf["labels"] = map[string]any{"region": categories.Region, "zone": categories.Zone}
	}
	return yaml.Marshal(conf)
}

// zoned tells whether a node of the topology has region and zone, or any VM where none is a node.
func (s *Simulation) zoned() bool {
	anyNode := s.topology.Count().Nodes > 0
	for r := range s.topology.AllVMs() {
		if p := s.topology.Place(r); (r.VM.IsNode() || !anyNode) && p.Region != "" && p.Zone != "" {
			return true
		}
	}
	return false
}
