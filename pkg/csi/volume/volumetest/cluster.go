package volumetest

import (
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// MaxSnapshots is how many snapshots a volume has at most: upstream's default.
const MaxSnapshots = 3

// Disk is a volume on a node, for whoever stands in for its device.
type Disk struct {
	Volume   string
	Node     volume.Node
	UUID     string // compact
	Capacity int64  // bytes
	// Source is the volume whose snapshot it began with; empty for none.
	Source string
}

// Hooks are called while a disk comes, goes and grows: before the method that does it returns, and outside of all locks.
// An error becomes that of the method, and undoes nothing. Nil ones are left out.
type Hooks struct {
	Attach, Detach, Expand func(Disk) error
	Delete                 func(volume string) error
}

// Cluster is volumes, nodes and datastores in memory. Make one with [New]. All methods may be called concurrently.
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
	refs map[string]bool // of the datastores that comply
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

// New makes an empty one.
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

// AddDatastore adds one that no node mounts yet.
func (c *Cluster) AddDatastore(d volume.Datastore) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.datastores = append(c.datastores, d)
}

// AddNode adds a node in a segment, empty for none, and the datastores that its host mounts, by their references.
func (c *Cluster) AddNode(n volume.Node, in volume.Segment, mounts ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes = append(c.nodes, node{Node: n, segment: in, mounts: set(mounts)})
}

// RemoveNode is the end of a node's VM: its disks are detached, as vCenters do it.
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

// AddPolicy adds a storage policy of a vCenter, and the datastores that comply with it.
func (c *Cluster) AddPolicy(vcenter, name, id string, refs ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.policies[vcenter+"/"+name] = policy{id: id, refs: set(refs)}
}

// SetHealthy is what CNS says of a volume's health.
func (c *Cluster) SetHealthy(id string, healthy bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.volumes[id]; e != nil {
		e.Healthy = healthy
	}
}

// Metadata returns what was told of the objects that use a volume, and Source the snapshot that it began with.
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

// disk is the disk of a volume as the hooks see it.
func (e *entry) disk(n volume.Node) Disk {
	return Disk{Volume: e.ID, Node: n, UUID: names.Compact(e.uuid), Capacity: e.Capacity, Source: e.source.Volume}
}
