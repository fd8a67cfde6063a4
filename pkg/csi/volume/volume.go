package volume

import (
	"context"
	"errors"
	"time"
)

// Datastore is one datastore of one vCenter.
type Datastore struct {
	VCenter string // its name in the configuration
	Ref     string // managed object id ("datastore-12")
	Name    string
	URL     string // "ds:///vmfs/volumes/…/"
	// Datacenter is the inventory path of the one that it is in ("dcs/dc-1"); empty where nobody has asked.
	Datacenter string
	// Capacity and Free are bytes.
	Capacity, Free int64
}

// Volume is a block volume as CNS has it.
type Volume struct {
	ID      string // FCD id: the volume handle
	Name    string
	VCenter string
	// Capacity is bytes.
	Capacity     int64
	DatastoreURL string
	Policy       string // id of its storage policy; empty for none
	File         string // of its disk, "[datastore] fcd/….vmdk"; empty where CNS has not said
	Healthy      bool   // what CNS says of its health and of its datastore's accessibility
}

// Spec asks for a volume.
type Spec struct {
	// Name makes creation idempotent: a second with it, in one cluster id, returns the first volume.
	Name string
	// Capacity is bytes, rounded up to MiB.
	Capacity int64
	// Datastores are those it may lie on, of one vCenter; CNS chooses.
	Datastores []Datastore
	Policy     string // policy id
	// Snapshot to begin with the content of; empty volume for none.
	Snapshot SnapshotRef
	Metadata Metadata
}

// Metadata is what CNS is told of the Kubernetes objects that use a volume; vSphere Client shows it.
type Metadata struct {
	PV, PVC, Namespace string
	Labels             map[string]string
}

// SnapshotRef names a snapshot.
type SnapshotRef struct{ Volume, Snapshot string }

// Snapshot is one of a volume.
type Snapshot struct {
	SnapshotRef
	VCenter     string
	Description string // the name that it was asked for by
	Created     time.Time
	// Capacity is that of the volume when it was taken, bytes.
	Capacity int64
}

// Node is a VM that is a node.
type Node struct {
	ID      string // BIOS UUID, as the node service told it
	Name    string // of the Kubernetes node
	VCenter string
	VM      string // managed object id ("vm-42")
}

// Attached is a volume on a VM.
type Attached struct {
	Volume string
	Node   Node
	// DiskUUID is compact: see names.Compact.
	DiskUUID string
}

// What a [Store] or [Nodes] returns, wrapped with what it is about. Anything else is a failure that nothing is known of
// (Internal).
var (
	ErrNotFound     = errors.New("not found")                          // volume or snapshot
	ErrNodeGone     = errors.New("no VM for the node")                 // confirmed by all vCenters
	ErrInUse        = errors.New("in use")                             // attached to another VM, or attached at all
	ErrSnapshots    = errors.New("has snapshots")                      // what they forbid: deletion, expansion
	ErrNoSlot       = errors.New("no free SCSI slot")                  // of the VM
	ErrNoSpace      = errors.New("no space")                           // on any datastore allowed
	ErrNoDatastore  = errors.New("no datastore meets what is asked")   // topology, policy, URL
	ErrExists       = errors.New("exists with other properties")       // same name, other size or source
	ErrInvalid      = errors.New("invalid")                            // an argument
	ErrState        = errors.New("not in a state that allows it")      // of VM, host or datastore
	ErrPermission   = errors.New("permission denied")                  // of the vCenter's account
	ErrUnavailable  = errors.New("vcenter unavailable")                // down, unreachable, refused the login
	ErrLimit        = errors.New("limit reached")                      // snapshots per volume
	ErrPending      = errors.New("still being done")                   // the same operation is under way
	ErrNotSupported = errors.New("not supported")                      // by this vCenter or this volume
	ErrInTree       = errors.New("not done to in-tree volumes")        // which go by the path of their disk
	ErrToken        = errors.New("starting token is of no page known") // of a listing
)

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
