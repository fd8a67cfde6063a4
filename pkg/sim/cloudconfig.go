package sim

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// CloudConfig configures [Simulation.CloudConfig].
type CloudConfig struct {
	// CAFile is the path at which the clients find [Simulation.CA].
	CAFile string
	// SecretName and SecretNamespace identify the Secret with the credentials. Without them the configuration contains users and
	// passwords.
	SecretName, SecretNamespace string
	// Reach returns the address at which the clients reach a vCenter, by its name. Default: the address on which it listens.
	Reach func(vcenter string) (host string, port int)
}

// CloudConfig renders vsphere.conf, in the YAML of the upstream cloud provider, for all vCenters and datacenters. It sets the
// labels for region and zone if the topology has them: with labels, a node whose VM has no tags is never initialized, here and
// upstream.
func (s *Simulation) CloudConfig(c CloudConfig) ([]byte, error) {
	global := map[string]any{"insecureFlag": false, "caFile": c.CAFile}
	if c.SecretName != "" {
		global["secretName"], global["secretNamespace"] = c.SecretName, c.SecretNamespace
	}
	tenants, top := map[string]any{}, s.Topology()
	for i, v := range s.vcenters {
		datacenters := top.Spec.VCenters[i].Datacenters
		dcs := make([]string, len(datacenters))
		for i := range datacenters {
			dcs[i] = datacenters[i].InventoryPath()
		}
		host, port := v.Host(), v.Port()
		if c.Reach != nil {
			host, port = c.Reach(v.Name())
		}
		tenant := map[string]any{"server": host, "port": port, "datacenters": dcs}
		if c.SecretName == "" {
			tenant["user"], tenant["password"] = v.User(), v.Password()
		}
		tenants[v.Name()] = tenant
	}
	conf := map[string]any{"global": global, "vcenter": tenants}
	if zoned(top) {
		categories := top.Spec.Categories
		conf["labels"] = map[string]any{"region": categories.Region, "zone": categories.Zone}
	}
	return yaml.Marshal(conf)
}

// zoned reports whether a node of the topology has region and zone, or any VM if no VM is a node.
func zoned(top *topology.Topology) bool {
	anyNode := top.Count().Nodes > 0
	for r := range top.AllVMs() {
		if p := top.Place(r); (r.VM.IsNode() || !anyNode) && p.Region != "" && p.Zone != "" {
			return true
		}
	}
	return false
}

// Rack sets the hardware of a topology: hosts that clients add get its sizes, and see its datastores as disks and exports.
// vCenters that are not in the topology do not change.
func (s *Simulation) Rack(t *topology.Topology) {
	for _, v := range s.vcenters {
		for i := range t.Spec.VCenters {
			if t.Spec.VCenters[i].Name == v.Name() {
				v.joining.Rack(&t.Spec.VCenters[i])
			}
		}
	}
}

// Topology returns the topology of the inventories, as last set.
func (s *Simulation) Topology() *topology.Topology { return s.topology.Load() }

// SetTopology records that the inventories have the state of another topology with the same vCenters, as after pkg/sim/apply. It
// only affects [Simulation.CloudConfig].
func (s *Simulation) SetTopology(t *topology.Topology) error {
	sorted := *t
	sorted.Spec.VCenters = nil
	for _, v := range s.vcenters {
		i := slices.IndexFunc(t.Spec.VCenters, func(spec topology.VCenter) bool { return spec.Name == v.Name() })
		if i < 0 {
			return fmt.Errorf("vcenter %q: not in the topology", v.Name())
		}
		sorted.Spec.VCenters = append(sorted.Spec.VCenters, t.Spec.VCenters[i])
	}
	s.topology.Store(&sorted)
	return nil
}

// CSIConfig configures [Simulation.CSIConfig].
type CSIConfig struct {
	// ClusterID distinguishes the cluster's volumes from those of other clusters.
	ClusterID string
	// CAFile is the path at which the driver finds [Simulation.CA].
	CAFile string
	// Reach returns the address at which the driver reaches a vCenter, by its name. Default: the address on which it listens.
	Reach func(vcenter string) (host string, port int)
	// Login returns user and password, by the vCenter's name. Default: the administrator's.
	Login func(vcenter string) (user, password string)
}

// CSIConfig renders csi-vsphere.conf, in the INI format of upstream's CSI driver, for all vCenters and datacenters. If nodes have
// regions and zones, their tag categories are the driver's topology.
func (s *Simulation) CSIConfig(c CSIConfig) []byte {
	var b bytes.Buffer
	top := s.Topology()
	fmt.Fprintf(&b, "[Global]\ncluster-id = %q\ncluster-distribution = \"vsphere-sandbox\"\nca-file = %q\n", c.ClusterID, c.CAFile)
	for i, v := range s.vcenters {
		var datacenters []string
		for _, dc := range top.Spec.VCenters[i].Datacenters {
			datacenters = append(datacenters, dc.InventoryPath())
		}
		host, port := v.Host(), v.Port()
		if c.Reach != nil {
			host, port = c.Reach(v.Name())
		}
		user, password := v.User(), v.Password()
		if c.Login != nil {
			user, password = c.Login(v.Name())
		}
		fmt.Fprintf(&b, "\n[VirtualCenter %q]\ninsecure-flag = \"false\"\nuser = %q\npassword = %q\nport = \"%d\"\ndatacenters = %q\n",
			host, user, password, port, strings.Join(datacenters, ", "))
	}
	if zoned(top) {
		fmt.Fprintf(&b, "\n[Labels]\ntopology-categories = %q\n", top.Spec.Categories.Region+", "+top.Spec.Categories.Zone)
	}
	return b.Bytes()
}
