package topology

import "github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"

// checkDatacenter checks everything of a datacenter but its VMs. Hosts must differ in the whole vCenter, which knows
// them by their DNS names; the other names in their datacenter only.
func checkDatacenter(p *problems, m *marking, s *site, hosts *scope) {
	dc, at := s.datacenter, s.at
	m.check(dc.Marks, dc.Place, typeDatacenter, at)

	// Compute clusters and standalone hosts share a folder of the vCenter.
	compute, clusters := newScope(p, "compute cluster or host"), newScope(p, "compute cluster")
	for i := range dc.Clusters {
		cluster, at := &dc.Clusters[i], at.key("clusters").item(i)
		checkName(p, at.key("name"), cluster.Name, inventoryName)
		checkHas(p, at.key("hosts"), len(cluster.Hosts), "host")
		m.check(cluster.Marks, cluster.Place, typeCluster, at)
		checkPools(p, m, cluster.Pools, cluster.VApps, at, 1)
		compute.add(cluster.Name, at.key("name"))
		clusters.enter(cluster.Name, at.key("name"))
	}
	clusters.forgive(at.key("clusters"))
	mounting := newScope(p, "host")
	var last *path
	for _, host := range s.hosts {
		checkHost(p, m, host, host.at != last)
		last = host.at
		hosts.add(host.Name, host.at.key("name"))
		mounting.enter(host.Name, host.at.key("name"))
		if host.cluster == nil {
			compute.add(host.Name, host.at.key("name"))
		}
	}
	mounting.forgive(at.key("hosts"))
	mounting.forgive(at.key("clusters"))
	checkNetworks(p, m, s, mounting, clusters)
	checkDatastores(p, m, s, mounting, clusters)
}

// checkHost checks a host; what all replicas of a group share only with the first of them.
func checkHost(p *problems, m *marking, host sitedHost, first bool) {
	checkName(p, host.at.key("name"), host.Name, hostName)
	m.check(host.Marks, host.Place, typeHost, host.at)
	if !first {
		return
	}
	checkMost(p, host.at.key("cpus"), host.CPUs, maxHostCPUs)
	checkMemory(p, host.at.key("memory"), host.Memory)
	if host.cluster != nil && len(host.Pools) > 0 {
		p.field(host.at.key("pools"), "", "are for standalone hosts: this one is in compute cluster %s, which can have them", strict.Shown(host.cluster.Name))
		return
	}
	checkPools(p, m, host.Pools, nil, host.at, 1)
}
