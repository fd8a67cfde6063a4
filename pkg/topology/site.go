package topology

// site is a datacenter while it is resolved: its parts together with where the file has them, which after expansion is
// no longer their index.
type site struct {
	vcenter    *VCenter
	datacenter *Datacenter
	at         *path
	hosts      []sitedHost
	vms        []*path // of datacenter.VMs, index by index
	subnets    map[string]*subnet
}

// sitedHost is a host of a datacenter, with its compute cluster unless it stands alone.
type sitedHost struct {
	*Host
	cluster *Cluster
	at      *path
}

// list gathers the hosts, compute clusters first, once the slices have their final place in memory.
func (s *site) list(clusterHosts [][]*path, standalone []*path) {
	for i := range s.datacenter.Clusters {
		cluster := &s.datacenter.Clusters[i]
		for j := range cluster.Hosts {
			s.hosts = append(s.hosts, sitedHost{&cluster.Hosts[j], cluster, clusterHosts[i][j]})
		}
	}
	for i := range s.datacenter.Hosts {
		s.hosts = append(s.hosts, sitedHost{&s.datacenter.Hosts[i], nil, standalone[i]})
	}
}

// clusterName is the name of its compute cluster, empty for a standalone host.
func (h sitedHost) clusterName() string {
	if h.cluster == nil {
		return ""
	}
	return h.cluster.Name
}

// compute is the name of its compute resource, which a standalone host has to itself.
func (h sitedHost) compute() string {
	if h.cluster == nil {
		return h.Name
	}
	return h.cluster.Name
}
