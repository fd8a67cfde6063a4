package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

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
	name    string // empty for a host without nodes, whose vm has only that host
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
	// hosts are those that must mount a datastore for volumes of the segment: one node per host, and the hosts without nodes.
	hosts []*placedNode
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
	n.addHosts(byKey)
	for _, s := range l.segments {
		s.hosts = perHost(append(slices.Clone(s.nodes), s.hosts...))
	}
	slices.SortFunc(l.segments, func(a, b *segment) int { return strings.Compare(a.key, b.key) })
	return l
}

// addHosts adds to segments the hosts that DRS may move their nodes to.
func (n *Nodes) addHosts(segments map[string]*segment) {
	for _, m := range *n.members.Load() {
		if !m.inSync() {
			continue
		}
		for key, hosts := range m.hostsBySegment() {
			if s := segments[key]; s != nil && slices.Contains(s.members(), m) {
				s.hosts = append(s.hosts, hosts...)
			}
		}
	}
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

// Node implements [volume.Nodes]. It answers from memory. If no inventory has a VM with the id, it queries every vCenter
// directly. The error is volume.ErrNodeGone if all of them are reachable and readable and none has the VM, or if id is not a
// UUID. It is volume.ErrUnavailable if a vCenter is in doubt, or the VM is in an unexpected place.
func (n *Nodes) Node(ctx context.Context, id string) (volume.Node, error) {
	u, err := parseUUID(id)
	if err != nil {
		return volume.Node{}, fmt.Errorf("node %q: %w: %w", id, volume.ErrNodeGone, err)
	}
	m, v, err := n.lookup(u)
	if errors.Is(err, errNoVM) {
		if m, v, err = n.searchAll(ctx, u); err == nil && v == nil {
			return volume.Node{}, fmt.Errorf("node %q: %w", id, volume.ErrNodeGone)
		}
	}
	if err != nil {
		return volume.Node{}, fmt.Errorf("node %q: %w: %w", id, volume.ErrUnavailable, err)
	}
	n.nodeIDs.learn(v.uuid, id)
	return volume.Node{ID: id, Name: n.nodeName(u), VCenter: m.name(), VM: v.ref.Value}, nil
}

// In returns the nodes with VMs in one vCenter, by name, from memory. Their ids are those of the last [Nodes.Node] call, which
// are the ones that Kubernetes has; without a call, the id is the BIOS UUID in the vCenter's form, which is the usual one. An
// error that wraps volume.ErrUnavailable comes with an incomplete list: the cluster's nodes are not known yet, or the vCenter
// is in doubt. A node without a VM in any vCenter is never included.
func (n *Nodes) In(vcenter string) ([]volume.Node, error) {
	m, err := n.member(vcenter)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", volume.ErrUnavailable, err)
	}
	l := n.current()
	var all []volume.Node
	for _, node := range l.nodes {
		if node.in == m {
			all = append(all, volume.Node{ID: n.nodeIDs.of(node.vm.uuid), Name: node.name, VCenter: vcenter, VM: node.vm.ref.Value})
		}
	}
	if !l.known {
		return all, fmt.Errorf("%w: %w", volume.ErrUnavailable, errNodesUnknown)
	}
	if err := m.doubt(); err != nil {
		return all, fmt.Errorf("%w: %w", volume.ErrUnavailable, err)
	}
	return all, nil
}

// nodeName returns the name of the Kubernetes node with that UUID, or "".
func (n *Nodes) nodeName(u match.UUID) string {
	names := n.current().names
	if name, ok := names[u]; ok {
		return name
	}
	return names[u.Swapped()]
}

// Segment returns the topology of the VM with a node id, or nil if no categories are configured. node is its name in errors.
// Errors: a [*MissingTagError]; volume.ErrNodeGone; volume.ErrUnavailable, also for a VM that is too new to be located.
func (n *Nodes) Segment(ctx context.Context, node, id string) (volume.Segment, error) {
	u, err := parseUUID(id)
	if err != nil {
		return nil, fmt.Errorf("node %q: %w: %w", node, volume.ErrNodeGone, err)
	}
	m, v, err := n.lookup(u)
	if errors.Is(err, errNoVM) {
		switch _, v, err = n.searchAll(ctx, u); {
		case err != nil:
		case v == nil:
			return nil, fmt.Errorf("node %q: %w: BIOS UUID %s", node, volume.ErrNodeGone, u)
		default:
			err = fmt.Errorf("the location of vm %s is not known yet", v.ref.Value)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("node %q: %w: %w", node, volume.ErrUnavailable, err)
	}
	return m.segment(node, v)
}

const maxSpellings = 100_000

// idSpelling remembers how Kubernetes spells the ids of nodes. It compares them literally, and a node service may have read its
// UUID in the other byte order, or in capitals. Only ids that differ from the vCenter's form are kept. The zero value is
// ready to use.
type idSpelling struct {
	mu sync.Mutex
	as map[match.UUID]string
}

func (s *idSpelling) learn(u match.UUID, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == u.String() {
		delete(s.as, u)
		return
	}
	if s.as == nil || len(s.as) >= maxSpellings {
		s.as = map[match.UUID]string{}
	}
	s.as[u] = id
}

func (s *idSpelling) of(u match.UUID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id, ok := s.as[u]; ok {
		return id
	}
	return u.String()
}

// debounce is how long changes are collected before listeners are called.
const debounce = 20 * time.Millisecond

// Listen calls f with the sorted names of nodes whose [Nodes.Segment] may have changed: because of vMotion, tags, added or
// removed nodes, or because a vCenter came into sync or lost it. f must not block. It is not called before Run, and not after
// stop has returned.
func (n *Nodes) Listen(f func(nodes []string)) (stop func()) { return n.moved.Listen(f) }

// observe calls the listeners until ctx ends.
func (n *Nodes) observe(ctx context.Context) {
	notified := map[string]string{}
	for {
		select {
		case <-n.wake:
		case <-ctx.Done():
			return
		}
		timer := time.NewTimer(debounce)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		answers := n.current().nodeStates()
		var differ []string
		for name, answer := range answers {
			if before, ok := notified[name]; !ok || before != answer {
				differ = append(differ, name)
			}
		}
		for name := range notified {
			if _, ok := answers[name]; !ok {
				differ = append(differ, name)
			}
		}
		notified = answers
		if len(differ) > 0 {
			slices.Sort(differ)
			n.moved.Notify(differ)
		}
	}
}

// nodeStates returns each node's segment in a comparable form.
func (l *layout) nodeStates() map[string]string {
	all := make(map[string]string, len(l.nodes)+len(l.lost))
	for _, node := range l.nodes {
		all[node.name] = node.in.name() + "\n" + segmentKey(node.segment)
		if node.err != nil {
			all[node.name] += node.err.Error()
		}
	}
	for _, node := range l.lost {
		all[node.name] = node.err.Error()
	}
	return all
}
