package topology

// checkDatacenter checks everything of a datacenter but its VMs. Hosts must differ in the whole vCenter, which knows
// them by their DNS names; the other names in their datacenter only.
func checkDatacenter(p *problems, s *site, hosts *scope) {
	dc, at := s.datacenter, s.at
	checkPlace(p, at, dc.Place)

	networks := newScope(p, "network")
	for i, network := range dc.Networks {
		at := at.key("networks").item(i).key("name")
		checkName(p, at, network.Name, inventoryName)
		networks.add(network.Name, at)
	}
	// Compute clusters and standalone hosts share a folder of the vCenter.
	compute := newScope(p, "compute cluster or host")
	for i := range dc.Clusters {
		cluster, at := &dc.Clusters[i], at.key("clusters").item(i)
		checkName(p, at.key("name"), cluster.Name, inventoryName)
		checkPlace(p, at, cluster.Place)
		checkHas(p, at.key("hosts"), len(cluster.Hosts), "host")
		compute.add(cluster.Name, at.key("name"))
	}
	mounting := newScope(p, "host")
	for _, host := range s.hosts {
		checkHost(p, host)
		hosts.add(host.Name, host.at.key("name"))
		mounting.add(host.Name, host.at.key("name"))
		if host.cluster == nil {
			compute.add(host.Name, host.at.key("name"))
		}
	}
	checkDatastores(p, s, mounting)
}

func checkHost(p *problems, host sitedHost) {
	checkName(p, host.at.key("name"), host.Name, dnsName)
	checkPlace(p, host.at, host.Place)
	checkMost(p, host.at.key("cpus"), host.CPUs, maxHostCPUs)
	checkMemory(p, host.at.key("memory"), host.Memory)
}

func checkDatastores(p *problems, s *site, hosts *scope) {
	datastores := newScope(p, "datastore")
	for i, datastore := range s.datacenter.Datastores {
		at := s.at.key("datastores").item(i)
		checkName(p, at.key("name"), datastore.Name, inventoryName)
		checkMost(p, at.key("capacity"), datastore.Capacity, maxCapacity)
		datastores.add(datastore.Name, at.key("name"))

		mounts := newScope(p, "host")
		for j, host := range datastore.Hosts {
			at := at.key("hosts").item(j)
			checkName(p, at, host, func(string) (string, string) { return "", "" })
			mounts.add(host, at)
			if host != "" {
				hosts.refer(host, at, "datacenter "+shown(s.datacenter.Name))
			}
		}
	}
}
