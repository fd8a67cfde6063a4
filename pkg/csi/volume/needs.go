package volume

import "context"

// Store is CNS of all configured vCenters. All methods may be called concurrently, return when the vCenter has done it
// or said why not, and are idempotent: what is so already is no error. A vCenter that is down makes its own volumes
// unavailable ([ErrUnavailable]) and no others. When ctx ends, a method returns at once; what was begun goes on in the
// vCenter, and a repeated call joins it.
type Store interface {
	// Create makes a volume, or returns the one of that name. Errors: ErrNoSpace, ErrNoDatastore, ErrExists, ErrNotFound
	// (the snapshot), ErrState (datastore not accessible).
	Create(ctx context.Context, s Spec) (Volume, error)
	// Delete removes volume and disk. None of that id is no error. Errors: ErrInUse, ErrSnapshots.
	Delete(ctx context.Context, id string) error
	// Volume looks one up. Error: ErrNotFound.
	Volume(ctx context.Context, id string) (Volume, error)
	// Attach returns the disk's UUID, compact. On that node already is no error. Errors: ErrNotFound, ErrNodeGone,
	// ErrInUse (on another node), ErrNoSlot, ErrState.
	Attach(ctx context.Context, id string, n Node) (diskUUID string, err error)
	// Detach takes it off the node. Not on it, or no such volume or VM, is no error.
	Detach(ctx context.Context, id string, n Node) error
	// Expand makes it at least that large, in bytes, and returns its size. Never shrinks. Errors: ErrNotFound,
	// ErrSnapshots, ErrNoSpace.
	Expand(ctx context.Context, id string, bytes int64) (int64, error)
	// Snapshot takes one, or returns the one of that name. Errors: ErrNotFound, ErrLimit.
	Snapshot(ctx context.Context, volume, name string) (Snapshot, error)
	// DeleteSnapshot: none of that id is no error.
	DeleteSnapshot(ctx context.Context, s SnapshotRef) error
	// Snapshots lists those of a volume, of one id, or all (zero ref), ordered by volume and snapshot id.
	Snapshots(ctx context.Context, of SnapshotRef) ([]Snapshot, error)
	// Volumes lists the cluster's volumes, ordered by id, and what is attached where. Vcenters that do not answer are left
	// out and named in the error, which then comes with what the others have.
	Volumes(ctx context.Context) ([]Volume, []Attached, error)
	// Attachments returns where one volume is attached, of its vCenter's nodes. Error: ErrNotFound.
	Attachments(ctx context.Context, id string) ([]Attached, error)
	// SetMetadata tells CNS of the objects that use the volume.
	SetMetadata(ctx context.Context, id string, m Metadata) error
}

// Segment is values of topology keys: {"topology.csi.vmware.com/k8s-zone": "us-west"}.
type Segment map[string]string

// Requirement is where a volume may lie.
type Requirement struct {
	// Requisite and Preferred are as in CSI's TopologyRequirement; both empty: anywhere that every node reaches.
	Requisite, Preferred []Segment
	Policy               string // name of a storage policy; empty for none
	DatastoreURL         string // that datastore only; empty for any
	// Capacity is what has to fit, bytes.
	Capacity int64
}

// Place is a choice: the datastores of one vCenter, and the segments whose nodes reach all of them.
type Place struct {
	VCenter    string
	PolicyID   string
	Datastores []Datastore
	Segments   []Segment
}

// Nodes knows the cluster's nodes as VMs, and what their hosts mount. All methods may be called concurrently; one node
// that cannot be resolved, or one vCenter that is down, takes nothing from the others.
type Nodes interface {
	// Node returns the VM of a node id (BIOS UUID in either byte order). Errors: ErrNodeGone, ErrUnavailable.
	Node(ctx context.Context, id string) (Node, error)
	// Places returns where a volume may lie, best first. Error: ErrNoDatastore, with what rules each datastore out.
	Places(ctx context.Context, r Requirement) ([]Place, error)
	// SegmentsOf returns the segments whose nodes reach the datastore: the topology of a volume on it.
	SegmentsOf(ctx context.Context, vcenter, datastoreURL string) ([]Segment, error)
}
