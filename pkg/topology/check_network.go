package topology

import (
	"net/netip"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

const maxVLAN = 4094

// checkNetworks checks a datacenter's networks and distributed switches, which share a folder of the vCenter.
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

// checkMembers checks the hosts and clusters that mount a datastore or are on a switch.
func checkMembers(s *site, hosts, clusters []string, at *path, allHosts, allClusters *scope) {
	where := "datacenter " + strict.Shown(s.datacenter.Name)
	allHosts.referAll(hosts, at.key("hosts"), where)
	allClusters.referAll(clusters, at.key("clusters"), where)
}
