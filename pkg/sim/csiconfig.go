package sim

import (
	"bytes"
	"fmt"
	"strings"
)

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
