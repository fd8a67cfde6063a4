package topology

import (
	"net/netip"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// The largest volumes: of VMFS 6, and a limit for typos in others.
const (
	maxVMFS     = 64 * Ti
	maxCapacity = 4096 * Ti
)

func checkDatastores(p *problems, m *marking, s *site, hosts, clusters *scope) {
	datastores := newScope(p, "datastore")
	for i := range s.datacenter.Datastores {
		datastore, at := &s.datacenter.Datastores[i], s.at.key("datastores").item(i)
		checkName(p, at.key("name"), datastore.Name, inventoryName)
		datastores.add(datastore.Name, at.key("name"))
		most := maxCapacity
		if datastore.Type == VMFS {
			most = maxVMFS
		}
		checkMost(p, at.key("capacity"), datastore.Capacity, most)
		if datastore.Used > max(datastore.Capacity, 0) {
			p.field(at.key("used"), "", "is more than the datastore holds, which is %v", datastore.Capacity)
		}
		checkMembers(s, datastore.Hosts, datastore.Clusters, at, hosts, clusters)
		m.check(datastore.Marks, Place{}, typeDatastore, at)
	}
}

// checkPools checks the resource pools and vApps of a compute resource or a pool, recursively.
func checkPools(p *problems, m *marking, pools []Pool, vapps []VApp, at *path, depth int) {
	names := newScope(p, "resource pool or vApp")
	for i := range pools {
		pool, at := &pools[i], at.key("pools").item(i)
		checkName(p, at.key("name"), pool.Name, inventoryName)
		names.add(pool.Name, at.key("name"))
		m.check(pool.Marks, Place{}, typePool, at)
		if depth == maxPoolDepth && len(pool.Pools)+len(pool.VApps) > 0 {
			p.field(at, "", "has pools or vApps below it, which would be deeper than the %d levels that vSphere nests", maxPoolDepth)
			continue
		}
		checkPools(p, m, pool.Pools, pool.VApps, at, depth+1)
	}
	for i := range vapps {
		vapp, at := &vapps[i], at.key("vapps").item(i)
		checkName(p, at.key("name"), vapp.Name, inventoryName)
		names.add(vapp.Name, at.key("name"))
		m.check(vapp.Marks, Place{}, typeVApp, at)
	}
}

// poolPaths adds the paths of pools and vApps below prefix to the scope.
func poolPaths(into *scope, pools []Pool, vapps []VApp, prefix string, depth int) {
	if depth > maxPoolDepth {
		return
	}
	for i := range pools {
		path := join(prefix, pools[i].Name)
		into.enter(path, nil)
		poolPaths(into, pools[i].Pools, pools[i].VApps, path, depth+1)
	}
	for i := range vapps {
		into.enter(join(prefix, vapps[i].Name), nil)
	}
}

const maxVLAN = 4094

// checkNetworks checks a datacenter's networks and distributed switches, which share a folder.
func checkNetworks(p *problems, m *marking, s *site, hosts, clusters *scope) {
	dc := s.datacenter
	networks := newScope(p, "network")
	for i := range dc.Networks {
		at := s.at.key("networks").item(i)
		checkNetwork(p, &dc.Networks[i], networks, at)
		m.check(dc.Networks[i].Marks, Place{}, typeNetwork, at)
	}
	for i := range dc.Switches {
		sw, at := &dc.Switches[i], s.at.key("switches").item(i)
		checkMembers(s, sw.Hosts, sw.Clusters, at, hosts, clusters)
		m.check(sw.Marks, Place{}, typeSwitch, at)
		checkHas(p, at.key("portGroups"), len(sw.PortGroups), "port group")
		for j := range sw.PortGroups {
			group, at := &sw.PortGroups[j], at.key("portGroups").item(j)
			checkNetwork(p, &group.Network, networks, at)
			checkMost(p, at.key("vlan"), group.VLAN, maxVLAN)
			m.check(group.Marks, Place{}, typePortGroup, at)
		}
	}
	switches := newScope(p, "switch")
	for i, sw := range dc.Switches {
		at := s.at.key("switches").item(i).key("name")
		checkName(p, at, sw.Name, inventoryName)
		switches.add(sw.Name, at)
		if first, taken := networks.seen[sw.Name]; taken && sw.Name != "" {
			p.field(at, "", "is also the name of a network, on line %s", p.line(at, first))
		}
	}
}

func checkNetwork(p *problems, network *Network, networks *scope, at *path) {
	checkName(p, at.key("name"), network.Name, inventoryName)
	networks.add(network.Name, at.key("name"))
	if network.CIDR == "" {
		return
	}
	if _, err := parseSubnet(network.CIDR); err != nil {
		hint := ""
		if prefix, err := netip.ParsePrefix(network.CIDR); err == nil {
			if _, err := parseSubnet(prefix.Masked().String()); err == nil {
				hint = prefix.Masked().String()
			}
		}
		p.field(at.key("cidr"), hint, "%v", err)
	}
}

// checkMembers checks the hosts and clusters of a datastore or switch.
func checkMembers(s *site, hosts, clusters []string, at *path, allHosts, allClusters *scope) {
	where := "datacenter " + strict.Shown(s.datacenter.Name)
	allHosts.referAll(hosts, at.key("hosts"), where)
	allClusters.referAll(clusters, at.key("clusters"), where)
}
