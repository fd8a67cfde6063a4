package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Of returns the graph of a resolved topology.
func Of(t *topology.Topology) *Node {
	m := maker{top: t}
	root := &Node{Kind: Topology, Name: t.Metadata.Name, Count: 1, Notes: []string{t.Count().String()}}
	for i := range t.Spec.VCenters {
		root.Children = append(root.Children, m.vcenter(&t.Spec.VCenters[i]))
	}
	return root
}

type maker struct{ top *topology.Topology }

// node returns the node of one object.
func (m maker) node(kind Kind, name string, place topology.Place, marks topology.Marks, notes ...string) *Node {
	n := &Node{Kind: kind, Name: name, Count: 1}
	for _, note := range notes {
		if note != "" {
			n.Notes = append(n.Notes, note)
		}
	}
	add := func(category, tag string) {
		if tag != "" {
			n.Tags = append(n.Tags, category+"="+tag)
		}
	}
	add(m.top.Spec.Categories.Region, place.Region)
	add(m.top.Spec.Categories.Zone, place.Zone)
	for _, tag := range marks.Tags {
		add(tag.Category, tag.Name)
	}
	return n
}

func (m maker) vcenter(vcenter *topology.VCenter) *Node {
	n := m.node(VCenter, vcenter.Name, topology.Place{}, vcenter.Marks, vcenter.Version)
	folders := newTree(n, Folder)
	for _, folder := range vcenter.Folders {
		m.folder(folders, folder)
	}
	for i := range vcenter.Datacenters {
		dc := &vcenter.Datacenters[i]
		in := folders.folder(dc.Folder)
		in.Children = append(in.Children, m.datacenter(dc))
	}
	return n
}

// folder adds a listed folder, with its tags.
func (m maker) folder(folders *tree, folder topology.Folder) {
	folders.folder(folder.Path).Tags = m.node(folders.kind, "", folder.Place, folder.Marks).Tags
}

func (m maker) datacenter(dc *topology.Datacenter) *Node {
	n := m.node(Datacenter, dc.Name, dc.Place, dc.Marks)
	c := newCompute(m, n, dc)
	for i := range dc.Datastores {
		ds := &dc.Datastores[i]
		store := m.node(Datastore, ds.Name, topology.Place{}, ds.Marks, string(ds.Type), ds.Capacity.String(), c.members("mounted by", ds.Hosts, ds.Clusters))
		store.Links = c.links("mounted by", ds.Hosts, ds.Clusters)
		n.Children = append(n.Children, store)
	}
	for i := range dc.Networks {
		n.Children = append(n.Children, m.network(Network, &dc.Networks[i]))
	}
	for i := range dc.Switches {
		dvs := &dc.Switches[i]
		s := m.node(Switch, dvs.Name, topology.Place{}, dvs.Marks, c.members("on", dvs.Hosts, dvs.Clusters))
		s.Links = c.links("on", dvs.Hosts, dvs.Clusters)
		for j := range dvs.PortGroups {
			vlan := ""
			if id := dvs.PortGroups[j].VLAN; id > 0 {
				vlan = fmt.Sprintf("VLAN %d", id)
			}
			s.Children = append(s.Children, m.network(PortGroup, &dvs.PortGroups[j].Network, vlan))
		}
		s.Children = summarized(s.Children, c.moved)
		n.Children = append(n.Children, s)
	}
	n.Children = summarized(n.Children, c.moved)
	folders := newTree(n, VMFolder)
	for _, folder := range dc.Folders {
		m.folder(folders, folder)
	}
	for i := range dc.VMs {
		in := folders.folder(dc.VMs[i].Folder)
		in.Children = append(in.Children, m.vm(&dc.VMs[i]))
	}
	folders.each(func(in *Node) {
		in.Children = summarized(in.Children, c.moved)
		for _, vm := range in.Children {
			c.place(vm)
		}
	})
	c.settle(n)
	return n
}

func (m maker) network(kind Kind, network *topology.Network, notes ...string) *Node {
	return m.node(kind, network.Name, topology.Place{}, network.Marks, append(notes, network.CIDR)...)
}

func (m maker) vm(vm *topology.VM) *Node {
	kind, off := VM, ""
	if vm.Template == topology.Yes {
		kind = Template
	} else if vm.Power == topology.PowerOff {
		off = "off"
	}
	pool := ""
	if vm.Pool != "" {
		pool = "in pool " + vm.Pool
	}
	n := m.node(kind, vm.Name, topology.Place{}, vm.Marks, string(vm.Role), sized(vm.CPUs, vm.Memory), off, snapshots(len(vm.Snapshots)), pool)
	n.on = []place{{vm.Cluster, vm.Host}}
	return n
}

func sized(cpus int32, memory topology.Bytes) string {
	return shorten.Count(int(cpus), "CPU") + " " + memory.String()
}

func snapshots(n int) string {
	if n == 0 {
		return ""
	}
	return shorten.Count(n, "snapshot")
}

// listed joins the first few names, and counts the rest.
func listed(names []string) string {
	if len(names) > most {
		return shorten.List(names, most-1)
	}
	return strings.Join(names, ", ")
}

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
