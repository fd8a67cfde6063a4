package graph

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Kind is the kind of a node.
type Kind string

// The kinds of nodes.
const (
	Topology   Kind = "topology"
	VCenter    Kind = "vCenter"
	Folder     Kind = "folder"
	Datacenter Kind = "datacenter"
	Cluster    Kind = "cluster"
	Host       Kind = "host"
	Pool       Kind = "pool"
	VApp       Kind = "vApp"
	Datastore  Kind = "datastore"
	Network    Kind = "network"
	Switch     Kind = "switch"
	PortGroup  Kind = "port group"
	VMFolder   Kind = "VM folder"
	VM         Kind = "VM"
	Template   Kind = "template"
)

// Node is an object of a topology, or several similar ones, with its contents. Callers must not change the nodes of [Of].
type Node struct {
	Kind Kind
	// Name is the object's name, or the first and last of several: "vm-001 … vm-100".
	Name string
	// Count is the number of objects, at least 1.
	Count int
	// Notes are further properties, in a few words each.
	Notes []string
	// Tags are the object's tags, "category=tag", those of region and zone first.
	Tags []string
	// Children are its contents.
	Children []*Node

	on []place // of VMs: the places where they run
}

// place is a place where a VM runs.
type place struct{ cluster, host string }

// alike reports whether two objects differ only in their numbers and places. An object with contents is never alike.
func (n *Node) alike(other *Node) bool {
	return n.Kind == other.Kind && len(n.Children)+len(other.Children) == 0 && same(n.Notes, other.Notes) &&
		same(n.Tags, other.Tags) && sameCluster(n.on, other.on) && pattern(n.Name) == pattern(other.Name)
}

func same(a, b []string) bool { return strings.Join(a, "\x00") == strings.Join(b, "\x00") }

func sameCluster(a, b []place) bool {
	return len(a) == len(b) && (len(a) == 0 || a[0].cluster == b[0].cluster)
}

// pattern returns a name with its numbers replaced.
func pattern(name string) string {
	var b strings.Builder
	for _, r := range name {
		digit := '0' <= r && r <= '9'
		if digit && strings.HasSuffix(b.String(), "0") {
			continue
		}
		if digit {
			r = '0'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// most is the number of similar objects that are shown separately.
const most = 3

// summarized merges each run of similar nodes into one.
func summarized(nodes []*Node) []*Node {
	var all []*Node
	for len(nodes) > 0 {
		run := 1
		for run < len(nodes) && nodes[run].alike(nodes[0]) {
			run++
		}
		if run > most {
			all = append(all, joined(nodes[:run]))
		} else {
			all = append(all, nodes[:run]...)
		}
		nodes = nodes[run:]
	}
	return all
}

func joined(run []*Node) *Node {
	one := *run[0]
	one.Name += " … " + run[len(run)-1].Name
	one.Count = 0
	seen := map[place]bool{}
	one.on = nil
	for _, n := range run {
		one.Count += n.Count
		for _, p := range n.on {
			if !seen[p] {
				seen[p] = true
				one.on = append(one.on, p)
			}
		}
	}
	return &one
}

// tree is a hierarchy of folders of one kind below a node.
type tree struct {
	kind  Kind
	paths map[string]*Node
	order []*Node
}

func newTree(root *Node, kind Kind) *tree {
	return &tree{kind: kind, paths: map[string]*Node{"": root}, order: []*Node{root}}
}

// folder returns the folder at a path, creating missing ones.
func (t *tree) folder(path string) *Node {
	if n, ok := t.paths[path]; ok {
		return n
	}
	i := strings.LastIndexByte(path, '/')
	around := t.folder(path[:max(i, 0)])
	n := &Node{Kind: t.kind, Name: path[i+1:], Count: 1}
	around.Children = append(around.Children, n)
	t.paths[path] = n
	t.order = append(t.order, n)
	return n
}

// each iterates over the folders, the root first.
func (t *tree) each(f func(*Node)) {
	for _, n := range t.order {
		f(n)
	}
}

// Tree writes a node and its contents with box-drawing characters, one object a line.
func Tree(n *Node) string {
	var b strings.Builder
	b.WriteString(line(n) + "\n")
	branch(&b, n.Children, "")
	return b.String()
}

func branch(b *strings.Builder, nodes []*Node, indent string) {
	for i, n := range nodes {
		knot, below := "├── ", "│   "
		if i == len(nodes)-1 {
			knot, below = "└── ", "    "
		}
		b.WriteString(indent + knot + line(n) + "\n")
		branch(b, n.Children, indent+below)
	}
}

// line returns a node as a line of text.
func line(n *Node) string {
	text := title(n)
	if len(n.Notes) > 0 {
		text += "  " + printable(strings.Join(n.Notes, ", "))
	}
	if len(n.Tags) > 0 {
		text += "  [" + printable(strings.Join(n.Tags, " ")) + "]"
	}
	return text
}

// title returns kind and name of a node.
func title(n *Node) string {
	text := string(n.Kind) + " " + printable(n.Name)
	if n.Count > 1 {
		text += fmt.Sprintf(" (%d)", n.Count)
	}
	return text
}

// printable quotes text with control or ambiguous characters.
func printable(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.QuoteToGraphic(text)
	}
	return text
}

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
	m.compute(n, dc)
	for i := range dc.Datastores {
		ds := &dc.Datastores[i]
		mounted := members("mounted by", ds.Hosts, ds.Clusters)
		n.Children = append(n.Children, m.node(Datastore, ds.Name, topology.Place{}, ds.Marks, string(ds.Type), ds.Capacity.String(), mounted))
	}
	for i := range dc.Networks {
		n.Children = append(n.Children, m.network(Network, &dc.Networks[i]))
	}
	for i := range dc.Switches {
		dvs := &dc.Switches[i]
		s := m.node(Switch, dvs.Name, topology.Place{}, dvs.Marks, members("on", dvs.Hosts, dvs.Clusters))
		for j := range dvs.PortGroups {
			vlan := ""
			if id := dvs.PortGroups[j].VLAN; id > 0 {
				vlan = fmt.Sprintf("VLAN %d", id)
			}
			s.Children = append(s.Children, m.network(PortGroup, &dvs.PortGroups[j].Network, vlan))
		}
		s.Children = summarized(s.Children)
		n.Children = append(n.Children, s)
	}
	n.Children = summarized(n.Children)
	folders := newTree(n, VMFolder)
	for _, folder := range dc.Folders {
		m.folder(folders, folder)
	}
	for i := range dc.VMs {
		in := folders.folder(dc.VMs[i].Folder)
		in.Children = append(in.Children, m.vm(&dc.VMs[i]))
	}
	folders.each(func(in *Node) {
		in.Children = summarized(in.Children)
		for _, vm := range in.Children {
			vm.located()
		}
	})
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

// compute adds the compute resources below their datacenter.
func (m maker) compute(n *Node, dc *topology.Datacenter) {
	for i := range dc.Clusters {
		cluster := &dc.Clusters[i]
		one := m.node(Cluster, cluster.Name, cluster.Place, cluster.Marks)
		m.hosts(one, cluster.Hosts)
		one.Children = summarized(append(one.Children, m.pools(cluster.Pools, cluster.VApps)...))
		n.Children = append(n.Children, one)
	}
	m.hosts(n, dc.Hosts)
}

func (m maker) hosts(n *Node, hosts []topology.Host) {
	for i := range hosts {
		host := &hosts[i]
		one := m.node(Host, host.Name, host.Place, host.Marks, sized(host.CPUs, host.Memory))
		one.Children = m.pools(host.Pools, nil)
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
func members(how string, hosts, clusters []string) string {
	if len(hosts)+len(clusters) == 0 {
		return ""
	}
	return how + " " + listed(append(append([]string{}, clusters...), hosts...))
}

// located notes where VMs run: on a host or a few, or on a number of a cluster's hosts.
func (n *Node) located() {
	if len(n.on) == 0 {
		return
	}
	hosts := make([]string, len(n.on))
	for i, p := range n.on {
		hosts[i] = p.host
	}
	cluster := n.on[0].cluster
	if len(hosts) > most && cluster != "" {
		n.Notes = append(n.Notes, fmt.Sprintf("on %d hosts of %s", len(hosts), cluster))
		return
	}
	n.Notes = append(n.Notes, "on "+listed(hosts))
}
