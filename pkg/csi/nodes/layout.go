package nodes

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

// layout is an immutable snapshot of the nodes' places.
type layout struct {
	version  uint64
	known    bool // the list of nodes is complete
	nodes    []*placedNode
	lost     []lostNode
	segments []*segment
	names    map[match.UUID]string // node names by UUID
}

// placedNode is a node with a VM in an inventory.
type placedNode struct {
	name    string
	in      *member
	vm      *vm
	segment volume.Segment
	err     error // why it has no segment
}

// lostNode is a node without a VM in any inventory.
type lostNode struct {
	name string
	err  error
}

// segment is a topology segment with all its nodes.
type segment struct {
	of    volume.Segment
	key   string
	nodes []*placedNode
	hosts []*placedNode // one node per host
}

// members returns the vCenters of its nodes.
func (s *segment) members() (all []*member) {
	for _, node := range s.nodes {
		if !slices.Contains(all, node.in) {
			all = append(all, node.in)
		}
	}
	return all
}

var (
	errNoUUID  = errors.New("neither providerID nor system UUID is a BIOS UUID")
	errNoVM    = errors.New("no vcenter has a VM with its BIOS UUID")
	errSeveral = errors.New("several VMs have the BIOS UUID")
)

// current returns the current layout. It computes a new one only after a change.
func (n *Nodes) current() *layout {
	n.mu.Lock()
	defer n.mu.Unlock()
	version := n.version.Load()
	if n.latest == nil || n.latest.version != version {
		n.latest = n.newLayout(version)
	}
	return n.latest
}

func (n *Nodes) newLayout(version uint64) *layout {
	all, known := n.cfg.Cluster.Nodes()
	slices.SortFunc(all, func(a, b KubeNode) int { return strings.Compare(a.Name, b.Name) })
	l := &layout{version: version, known: known, names: map[match.UUID]string{}}
	byKey := map[string]*segment{}
	for _, k := range all {
		u, ok := k.uuid()
		if !ok {
			l.lost = append(l.lost, lostNode{k.Name, errNoUUID})
			continue
		}
		l.names[u] = k.Name
		m, v, err := n.lookup(u)
		if err != nil {
			l.lost = append(l.lost, lostNode{k.Name, err})
			continue
		}
		node := &placedNode{name: k.Name, in: m, vm: v}
		node.segment, node.err = m.segment(k.Name, v)
		l.nodes = append(l.nodes, node)
		if node.segment == nil {
			continue
		}
		key := segmentKey(node.segment)
		if byKey[key] == nil {
			byKey[key] = &segment{of: node.segment, key: key}
			l.segments = append(l.segments, byKey[key])
		}
		byKey[key].nodes = append(byKey[key].nodes, node)
	}
	for _, s := range l.segments {
		s.hosts = perHost(s.nodes)
	}
	slices.SortFunc(l.segments, func(a, b *segment) int { return strings.Compare(a.key, b.key) })
	return l
}

// perHost returns the first node on each host: all nodes of a host reach the same datastores.
func perHost(nodes []*placedNode) (some []*placedNode) {
	type place struct {
		in   *member
		host ref
	}
	seen := map[place]bool{}
	for _, node := range nodes {
		if at := (place{node.in, node.vm.host}); !seen[at] {
			seen[at] = true
			some = append(some, node)
		}
	}
	return some
}

// lookup finds a VM in the inventories that are in sync. It tries the swapped byte order only if no VM has the UUID as given.
func (n *Nodes) lookup(u match.UUID) (*member, *vm, error) {
	for _, u := range [...]match.UUID{u, u.Swapped()} {
		var in *member
		var found []*vm
		for _, m := range *n.members.Load() {
			if !m.inSync() {
				continue
			}
			for _, v := range m.inventory.find(u) {
				if !v.template && m.inventory.inside(v, m.datacenters) {
					in, found = m, append(found, v)
				}
			}
		}
		switch len(found) {
		case 0:
		case 1:
			return in, found[0], nil
		default:
			return nil, nil, fmt.Errorf("%w: %s and %s", errSeveral, found[0].name, found[1].name)
		}
	}
	return nil, nil, errNoVM
}
