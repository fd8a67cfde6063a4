package volumetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// MaxSnapshots is the maximum number of snapshots per volume: upstream's default.
const MaxSnapshots = 3

// Disk is a volume on a node, for code that simulates its device.
type Disk struct {
	Volume   string
	Node     volume.Node
	UUID     string // compact
	Capacity int64  // bytes
	// Source is the volume whose snapshot it was created from; empty for none.
	Source string
}

// Hooks are called when a disk is attached, detached or enlarged, before the method returns and without any lock. Their error
// becomes the method's and undoes nothing. They may be nil.
type Hooks struct {
	Attach, Detach, Expand func(Disk) error
	Delete                 func(volume string) error
}

// Cluster has volumes, nodes and datastores in memory. Create it with [New]. All methods are safe for concurrent use.
type Cluster struct {
	hooks Hooks

	mu         sync.Mutex
	nodes      []node
	datastores []volume.Datastore
	policies   map[string]policy // by vCenter and name
	volumes    map[string]*entry // by id
	faults     map[string][]error
	holds      map[string]chan struct{}
	calls      map[string]int
	made       int
	now        time.Time
}

type node struct {
	volume.Node
	segment volume.Segment
	mounts  map[string]bool // refs
}

type policy struct {
	id   string
	refs map[string]bool // of the compliant datastores
}

// entry is a volume.
type entry struct {
	volume.Volume
	metadata  volume.Metadata
	source    volume.SnapshotRef
	snapshots []volume.Snapshot
	on        string // id of a node; empty for none
	uuid      string
}

// New returns an empty Cluster.
func New(hooks Hooks) *Cluster {
	return &Cluster{
		hooks:    hooks,
		policies: map[string]policy{},
		volumes:  map[string]*entry{},
		faults:   map[string][]error{},
		holds:    map[string]chan struct{}{},
		calls:    map[string]int{},
		now:      time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
}

// AddDatastore adds a datastore that no node mounts yet.
func (c *Cluster) AddDatastore(d volume.Datastore) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.datastores = append(c.datastores, d)
}

// AddNode adds a node in a segment, which may be empty, and the references of the datastores that its host mounts.
func (c *Cluster) AddNode(n volume.Node, in volume.Segment, mounts ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes = append(c.nodes, node{Node: n, segment: in, mounts: set(mounts)})
}

// RemoveNode deletes a node's VM: its disks are detached, as in vCenters.
func (c *Cluster) RemoveNode(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, n := range c.nodes {
		if n.ID == id {
			c.nodes = append(c.nodes[:i:i], c.nodes[i+1:]...)
			break
		}
	}
	for _, e := range c.volumes {
		if e.on == id {
			e.on = ""
		}
	}
}

// AddPolicy adds a storage policy of a vCenter, and its compliant datastores.
func (c *Cluster) AddPolicy(vcenter, name, id string, refs ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.policies[vcenter+"/"+name] = policy{id: id, refs: set(refs)}
}

// SetHealthy sets the health of a volume in CNS.
func (c *Cluster) SetHealthy(id string, healthy bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.volumes[id]; e != nil {
		e.Healthy = healthy
	}
}

// Metadata returns the objects that use a volume, and Source the snapshot that it was created from.
func (c *Cluster) Metadata(id string) (m volume.Metadata, source volume.SnapshotRef) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.volumes[id]; e != nil {
		return e.metadata, e.source
	}
	return m, source
}

func set(all []string) map[string]bool {
	s := map[string]bool{}
	for _, x := range all {
		s[x] = true
	}
	return s
}

// disk returns the disk of a volume for the hooks.
func (e *entry) disk(n volume.Node) Disk {
	return Disk{Volume: e.ID, Node: n, UUID: names.Compact(e.uuid), Capacity: e.Capacity, Source: e.source.Volume}
}

var _ volume.Nodes = (*Cluster)(nil)

// Node implements [volume.Nodes].
func (c *Cluster) Node(ctx context.Context, id string) (volume.Node, error) {
	if err := c.enter(ctx, "Node"); err != nil {
		return volume.Node{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.node(id)
	return n.Node, err
}

// node is called with the lock held.
func (c *Cluster) node(id string) (node, error) {
	for _, n := range c.nodes {
		if same(n.ID, id) {
			return n, nil
		}
	}
	return node{}, fmt.Errorf("node %s: %w", id, volume.ErrNodeGone)
}

// Places implements [volume.Nodes]: a place is a vCenter's datastores that all nodes of one segment reach, and without a
// requirement, that all nodes reach. Preferred segments come first, in their order.
func (c *Cluster) Places(ctx context.Context, r volume.Requirement) ([]volume.Place, error) {
	if err := c.enter(ctx, "Places"); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	wanted := slices.Concat(r.Preferred, r.Requisite)
	if len(wanted) == 0 {
		wanted = []volume.Segment{nil}
	}
	var places []volume.Place
	for i, segment := range wanted {
		if slices.ContainsFunc(wanted[:i], func(s volume.Segment) bool { return maps.Equal(s, segment) }) {
			continue
		}
		for _, vcenter := range c.vcenters() {
			p, err := c.place(vcenter, segment, r)
			if err != nil {
				return nil, err
			}
			if len(p.Datastores) > 0 {
				places = append(places, p)
			}
		}
	}
	if len(places) == 0 {
		return nil, fmt.Errorf("no datastore for %v: %w", wanted, volume.ErrNoDatastore)
	}
	return places, nil
}

// isVSAN reports whether the datastore can have shares.
func isVSAN(d volume.Datastore) bool { return strings.Contains(d.URL, "/vsan:") }

// place is called with the lock held.
func (c *Cluster) place(vcenter string, segment volume.Segment, r volume.Requirement) (volume.Place, error) {
	p := volume.Place{VCenter: vcenter}
	var complying map[string]bool
	if r.Policy != "" {
		rule, ok := c.policies[vcenter+"/"+r.Policy]
		if !ok {
			return p, fmt.Errorf("storage policy %q of vcenter %q: %w", r.Policy, vcenter, volume.ErrNotFound)
		}
		p.PolicyID, complying = rule.id, rule.refs
	}
	if segment != nil {
		p.Segments = []volume.Segment{segment}
	}
	for _, d := range c.datastores {
		if r.Share && !isVSAN(d) {
			continue
		}
		if d.VCenter == vcenter && (complying == nil || complying[d.Ref]) &&
			(r.DatastoreURL == "" || r.DatastoreURL == d.URL) && c.reached(d, segment) {
			p.Datastores = append(p.Datastores, d)
		}
	}
	return p, nil
}

// reached reports whether the segment has nodes and all of them mount the datastore.
func (c *Cluster) reached(d volume.Datastore, segment volume.Segment) bool {
	some := false
	for _, n := range c.nodes {
		if n.VCenter != d.VCenter || !within(n.segment, segment) {
			continue
		}
		if !n.mounts[d.Ref] {
			return false
		}
		some = true
	}
	return some
}

// within reports whether a node's segment has every value of another.
func within(in, segment volume.Segment) bool {
	for key, value := range segment {
		if in[key] != value {
			return false
		}
	}
	return true
}

func (c *Cluster) vcenters() []string {
	all := map[string]bool{}
	for _, d := range c.datastores {
		all[d.VCenter] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// SegmentsOf implements [volume.Nodes].
func (c *Cluster) SegmentsOf(ctx context.Context, vcenter, url string) ([]volume.Segment, error) {
	if err := c.enter(ctx, "SegmentsOf"); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var segments []volume.Segment
	for _, d := range c.datastores {
		if d.VCenter != vcenter || d.URL != url {
			continue
		}
		for _, n := range c.nodes {
			known := slices.ContainsFunc(segments, func(s volume.Segment) bool { return maps.Equal(s, n.segment) })
			if n.VCenter == vcenter && !known && len(n.segment) > 0 && c.reached(d, n.segment) {
				segments = append(segments, n.segment)
			}
		}
	}
	return segments, nil
}
