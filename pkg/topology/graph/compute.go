package graph

import (
	"fmt"
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// compute holds the compute resources of a datacenter, by name.
type compute struct {
	maker
	clusters, hosts map[string]*Node
	// moved maps nodes to the summarized node that replaced them.
	moved map[*Node]*Node
}

// newCompute adds the compute resources below their datacenter.
func newCompute(m maker, n *Node, dc *topology.Datacenter) *compute {
	c := &compute{maker: m, clusters: map[string]*Node{}, hosts: map[string]*Node{}, moved: map[*Node]*Node{}}
	for i := range dc.Clusters {
		cluster := &dc.Clusters[i]
		one := m.node(Cluster, cluster.Name, cluster.Place, cluster.Marks)
		c.clusters[cluster.Name] = one
		c.addHosts(one, cluster.Hosts)
		one.Children = append(one.Children, m.pools(cluster.Pools, cluster.VApps)...)
		one.Children = summarized(one.Children, c.moved)
		n.Children = append(n.Children, one)
	}
	c.addHosts(n, dc.Hosts)
	return c
}

func (c *compute) addHosts(n *Node, hosts []topology.Host) {
	for i := range hosts {
		host := &hosts[i]
		one := c.node(Host, host.Name, host.Place, host.Marks, sized(host.CPUs, host.Memory))
		one.Children = c.pools(host.Pools, nil)
		c.hosts[host.Name] = one
		n.Children = append(n.Children, one)
	}
}

func (m maker) pools(pools []topology.Pool, vapps []topology.VApp) []*Node {
	var all []*Node
	for i := range pools {
		pool := m.node(Pool, pools[i].Name, topology.Place{}, pools[i].Marks)
		pool.Children = m.pools(pools[i].Pools, pools[i].VApps)
		all = append(all, pool)
	}
	for i := range vapps {
		all = append(all, m.node(VApp, vapps[i].Name, topology.Place{}, vapps[i].Marks))
	}
	return all
}

// members describes the hosts and clusters of an object; empty means no restriction.
func (c *compute) members(how string, hosts, clusters []string) string {
	if len(hosts)+len(clusters) == 0 {
		return ""
	}
	return how + " " + listed(append(append([]string{}, clusters...), hosts...))
}

// links returns links to them.
func (c *compute) links(label string, hosts, clusters []string) []Link {
	var all []Link
	for _, name := range clusters {
		all = linked(all, Link{c.clusters[name], label})
	}
	for _, name := range hosts {
		all = linked(all, Link{c.hosts[name], label})
	}
	return all
}

// linked adds a link, unless it exists or has no target.
func linked(all []Link, link Link) []Link {
	if link.To == nil || slices.Contains(all, link) {
		return all
	}
	return append(all, link)
}

// settle replaces link targets that were summarized.
func (c *compute) settle(n *Node) {
	links := n.Links
	n.Links = nil
	for _, link := range links {
		if into, ok := c.moved[link.To]; ok {
			link.To = into
		}
		n.Links = linked(n.Links, link)
	}
	for _, child := range n.Children {
		c.settle(child)
	}
}

// place describes where VMs run: on a host or a few, or on a number of a cluster's hosts.
func (c *compute) place(vm *Node) {
	if len(vm.on) == 0 {
		return
	}
	hosts := make([]string, len(vm.on))
	for i, p := range vm.on {
		hosts[i] = p.host
	}
	cluster := vm.on[0].cluster
	if len(hosts) > most && cluster != "" {
		vm.Notes = append(vm.Notes, fmt.Sprintf("on %d hosts of %s", len(hosts), cluster))
		vm.Links = c.links("runs on", nil, []string{cluster})
		return
	}
	vm.Notes = append(vm.Notes, "on "+listed(hosts))
	vm.Links = c.links("runs on", hosts, nil)
}
