package graph

import "strings"

// Kind is what a node is.
type Kind string

// The kinds of nodes, as they are written.
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

// Node is one object of a topology, or several that are alike, with what is in it. Nobody changes one that [Of] has
// returned.
type Node struct {
	Kind Kind
	// Name is the object's, or the first and last of several: "vm-001 … vm-100".
	Name string
	// Count is how many objects the node stands for, at least 1.
	Count int
	// Notes are what else there is to say, in a few words each.
	Notes []string
	// Tags are the object's own, "category=tag", those of region and zone first.
	Tags []string
	// Children are what is in it.
	Children []*Node
	// Links lead to other objects that it belongs to.
	Links []Link

	on []place // of VMs: where they run, without repetitions
}

// Link is a relation beside containment.
type Link struct {
	To *Node
	// Label says which: "runs on", "mounted by".
	Label string
}

// place is where a VM runs.
type place struct{ cluster, host string }

// alike tells whether two objects differ in their numbers and places only. What has something in it is like nothing.
func (n *Node) alike(other *Node) bool {
	return n.Kind == other.Kind && len(n.Children)+len(other.Children) == 0 && same(n.Notes, other.Notes) &&
		same(n.Tags, other.Tags) && sameCluster(n.on, other.on) && pattern(n.Name) == pattern(other.Name)
}

func same(a, b []string) bool { return strings.Join(a, "\x00") == strings.Join(b, "\x00") }

func sameCluster(a, b []place) bool {
	return len(a) == len(b) && (len(a) == 0 || a[0].cluster == b[0].cluster)
}

// pattern is a name with its numbers made one.
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
