package graph

import (
	"fmt"
	"slices"
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
	// Links lead to related objects.
	Links []Link

	on []place // of VMs: the places where they run
}

// Link is a relation other than containment.
type Link struct {
	To *Node
	// Label is the relation: "runs on", "mounted by".
	Label string
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

// numbered assigns the nodes names that are valid in every language, n0, n1 … in the order of the tree.
func numbered(root *Node) (order []*Node, names map[*Node]string) {
	names = map[*Node]string{}
	var visit func(*Node)
	visit = func(n *Node) {
		names[n] = "n" + strconv.Itoa(len(order))
		order = append(order, n)
		for _, child := range n.Children {
			visit(child)
		}
	}
	visit(root)
	return order, names
}

// label returns the lines of a node: its name, its notes, its tags.
func label(n *Node) []string {
	lines := append([]string{title(n)}, n.Notes...)
	return append(lines, n.Tags...)
}

// most is the number of similar objects that are shown separately.
const most = 3

// summarized merges each run of similar nodes into one, and records the merged ones in moved.
func summarized(nodes []*Node, moved map[*Node]*Node) []*Node {
	var all []*Node
	for len(nodes) > 0 {
		run := 1
		for run < len(nodes) && nodes[run].alike(nodes[0]) {
			run++
		}
		if run > most {
			all = append(all, joined(nodes[:run], moved))
		} else {
			all = append(all, nodes[:run]...)
		}
		nodes = nodes[run:]
	}
	return all
}

func joined(run []*Node, moved map[*Node]*Node) *Node {
	one := *run[0]
	one.Name += " … " + run[len(run)-1].Name
	one.Count = 0
	seen := map[place]bool{}
	one.on = nil
	for _, n := range run {
		moved[n] = &one
		one.Count += n.Count
		for _, p := range n.on {
			if !seen[p] {
				seen[p] = true
				one.on = append(one.on, p)
			}
		}
		for _, l := range n.Links {
			if !slices.Contains(one.Links, l) {
				one.Links = append(one.Links, l)
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

// Tree writes a node and its contents with box-drawing characters, one object a line. It omits links, because the notes include
// them.
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

// Mermaid writes a node and its contents as a Mermaid flowchart, which GitHub renders: arrows lead to contents, dotted ones along
// links.
func Mermaid(root *Node) string {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	order, names := numbered(root)
	for _, n := range order {
		left, right := shapeMermaid(n.Kind)
		fmt.Fprintf(&b, "  %s%s%s%s\n", names[n], left, quotedMermaid(label(n)...), right)
	}
	for _, n := range order {
		for _, child := range n.Children {
			fmt.Fprintf(&b, "  %s --> %s\n", names[n], names[child])
		}
		for _, link := range n.Links {
			fmt.Fprintf(&b, "  %s -.->|%s| %s\n", names[n], quotedMermaid(link.Label), names[link.To])
		}
	}
	return b.String()
}

// quotedMermaid returns a quoted text. Mermaid's only escapes are entities, numeric ones in all renderers; HTML and Markdown are
// escaped.
func quotedMermaid(lines ...string) string {
	var b strings.Builder
	for i, text := range lines {
		if i > 0 {
			b.WriteString("<br/>")
		}
		for _, r := range printable(text) {
			if strings.ContainsRune("\"#&<>`\\*_~;|", r) {
				fmt.Fprintf(&b, "#%d;", r)
				continue
			}
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}

func shapeMermaid(kind Kind) (left, right string) {
	switch kind {
	case Datastore:
		return "[(", ")]"
	case Network, PortGroup, Switch:
		return "([", "])"
	case VM, Template:
		return "(", ")"
	case Topology, VCenter, Folder, Datacenter, Cluster, Host, Pool, VApp, VMFolder:
	}
	return "[", "]"
}

// DOT writes a node and its contents as a graph for Graphviz: solid arrows lead to contents, dashed ones along links.
func DOT(root *Node) string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n", quotedDOT(root.Name))
	b.WriteString("  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n")
	order, names := numbered(root)
	for _, n := range order {
		fmt.Fprintf(&b, "  %s [label=%s%s];\n", names[n], quotedDOT(label(n)...), shapeDOT(n.Kind))
	}
	for _, n := range order {
		for _, child := range n.Children {
			fmt.Fprintf(&b, "  %s -> %s;\n", names[n], names[child])
		}
		for _, link := range n.Links {
			fmt.Fprintf(&b, "  %s -> %s [style=dashed, constraint=false, label=%s];\n", names[n], names[link.To], quotedDOT(link.Label))
		}
	}
	b.WriteString("}\n")
	return b.String()
}

// quotedDOT returns a quoted string. A backslash begins an escape of Graphviz.
func quotedDOT(lines ...string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	for i, text := range lines {
		lines[i] = escape.Replace(printable(text))
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}

func shapeDOT(kind Kind) string {
	shape := ""
	switch kind {
	case VCenter:
		shape = "box3d"
	case Folder, VMFolder:
		shape = "folder"
	case Datastore:
		shape = "cylinder"
	case Network, PortGroup, Switch:
		shape = "ellipse"
	case VM, Template:
		shape = "component"
	case Topology, Datacenter, Cluster, Host, Pool, VApp:
		return ""
	}
	return ", shape=" + shape
}
