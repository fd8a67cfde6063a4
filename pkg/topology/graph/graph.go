package graph

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
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
