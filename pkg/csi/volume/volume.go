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
	// Datacenter is the inventory path of its datacenter ("dcs/dc-1"); empty if it was not read.
	Datacenter string
	// Capacity and Free are bytes.
	Capacity, Free int64
}

// Volume is a volume in CNS: a disk, or a share.
type Volume struct {
	ID      string // FCD id: the volume handle
	Name    string
	VCenter string
	// Capacity is bytes.
	Capacity     int64
	DatastoreURL string
	Policy       string // id of its storage policy; empty for none
	File         string // of its disk, "[datastore] fcd/….vmdk"; empty if unknown
	Export       string // of a share, "server:/path"; empty for a disk
	Healthy      bool   // both the volume and its datastore are healthy according to CNS
}

// Spec describes a volume to create.
type Spec struct {
	// Name makes creation idempotent: a second call with it, in one cluster id, returns the existing volume.
	Name string
	// Capacity is bytes, rounded up to MiB.
	Capacity int64
	// Datastores are the allowed datastores, all in one vCenter; CNS selects one.
	Datastores []Datastore
	Policy     string // policy id
	// Snapshot is the source of the content; empty for none.
	Snapshot SnapshotRef
	Metadata Metadata
	// Share makes a share of a vSAN file service instead of a disk.
	Share bool
}

// NetPermission is the right of clients to mount shares.
type NetPermission struct {
	// IPs are an address, a network or "*"; Access is "READ_WRITE", "READ_ONLY" or "NO_ACCESS", as in vSAN.
	IPs, Access string
	// RootSquash makes root an anonymous user.
	RootSquash bool
}

// Metadata identifies the Kubernetes objects that use a volume; the vSphere Client shows it.
type Metadata struct {
	PV, PVC, Namespace string
	Labels             map[string]string
}

// Entities returns the objects as CNS records them.
func (m Metadata) Entities() []Entity {
	var all []Entity
	pv := EntityRef{Kind: PV, Name: m.PV}
	if m.PV == "" {
		pv = EntityRef{}
	} else {
		all = append(all, Entity{EntityRef: pv, Labels: m.Labels})
	}
	if m.PVC != "" {
		all = append(all, Entity{EntityRef: EntityRef{Kind: PVC, Namespace: m.Namespace, Name: m.PVC}, Refers: pv})
	}
	return all
}

// EntityKind is the kind of an [Entity], as CNS spells it.
type EntityKind string

// The kinds of entities.
const (
	PV  EntityKind = "PERSISTENT_VOLUME"
	PVC EntityKind = "PERSISTENT_VOLUME_CLAIM"
	Pod EntityKind = "POD"
)

// EntityRef identifies a Kubernetes object; Namespace is empty for a PV.
type EntityRef struct {
	Kind            EntityKind
	Namespace, Name string
}

// Entity is a Kubernetes object in the record of a volume, as the vSphere Client shows it.
type Entity struct {
	EntityRef
	Labels map[string]string
	// Refers is what the object refers to: a claim to its volume, a pod to its claim; zero for a PV.
	Refers EntityRef
}

// Record is a volume and the objects of this cluster that CNS has recorded for it.
type Record struct {
	Volume
	Entities []Entity
	// HealthUnknown reports that CNS does not know the health of the volume; Healthy is true then.
	HealthUnknown bool
}

// SnapshotRef identifies a snapshot.
type SnapshotRef struct{ Volume, Snapshot string }

// Snapshot is a snapshot of a volume.
type Snapshot struct {
	SnapshotRef
	VCenter     string
	Description string // the name from the request
	Created     time.Time
	// Capacity is the size of the volume at the time of the snapshot, in bytes.
	Capacity int64
}

// Node is a node with its VM.
type Node struct {
	ID      string // BIOS UUID, as the node service spells it
	Name    string // of the Kubernetes node
	VCenter string
	VM      string // managed object id ("vm-42")
}

// Attached is a volume that is attached to a VM.
type Attached struct {
	Volume string
	Node   Node
	// DiskUUID is compact: see names.Compact.
	DiskUUID string
}

// The errors of a [Store] or [Nodes], wrapped with details. Any other error is an unknown failure (Internal).
var (
	ErrNotFound     = errors.New("not found")                           // volume or snapshot
	ErrNodeGone     = errors.New("no VM for the node")                  // confirmed by all vCenters
	ErrInUse        = errors.New("in use")                              // attached to another VM, or attached at all
	ErrSnapshots    = errors.New("has snapshots")                       // what they forbid: deletion, expansion
	ErrNoSlot       = errors.New("no free SCSI slot")                   // of the VM
	ErrNoSpace      = errors.New("no space")                            // on any datastore allowed
	ErrNoDatastore  = errors.New("no datastore meets the requirements") // topology, policy, URL
	ErrExists       = errors.New("exists with other properties")        // same name, other size or source
	ErrInvalid      = errors.New("invalid")                             // an argument
	ErrState        = errors.New("its state does not allow it")         // of VM, host or datastore
	ErrPermission   = errors.New("permission denied")                   // of the vCenter's account
	ErrUnavailable  = errors.New("vcenter unavailable")                 // down, unreachable, refused the login
	ErrLimit        = errors.New("limit reached")                       // snapshots per volume
	ErrPending      = errors.New("operation in progress")               // the same operation is under way
	ErrNotSupported = errors.New("not supported")                       // by this vCenter or this volume
	ErrInTree       = errors.New("not supported for in-tree volumes")   // which go by the path of their disk
	ErrToken        = errors.New("starting token is invalid")           // of a listing
)

// Store is the CNS of all configured vCenters. All methods are safe for concurrent use and idempotent: repeating a call is not
// an error. They return when the vCenter has finished or refused. A vCenter that is down makes only its own volumes
// unavailable ([ErrUnavailable]). When ctx ends, a method returns at once; the operation continues in the vCenter, and a
// repeated call joins it.
type Store interface {
	// Create creates a volume, or returns the one with the name. Errors: ErrNoSpace, ErrNoDatastore, ErrExists, ErrNotFound
	// (the snapshot), ErrState (datastore not accessible).
	Create(ctx context.Context, s Spec) (Volume, error)
	// Delete deletes the volume and its disk, if they exist. Errors: ErrInUse, ErrSnapshots.
	Delete(ctx context.Context, id string) error
	// Volume returns a volume. Error: ErrNotFound.
	Volume(ctx context.Context, id string) (Volume, error)
	// Attach attaches the volume to the node's VM, unless it is attached there, and returns the disk's UUID, compact. Errors:
	// ErrNotFound, ErrNodeGone, ErrInUse (on another node), ErrNoSlot, ErrState.
	Attach(ctx context.Context, id string, n Node) (diskUUID string, err error)
	// Detach detaches the volume from the node's VM. It succeeds if it is not attached, or volume or VM do not exist.
	Detach(ctx context.Context, id string, n Node) error
	// Expand makes the volume at least that large, in bytes, and returns its size. A volume never shrinks. Errors: ErrNotFound,
	// ErrSnapshots, ErrNoSpace.
	Expand(ctx context.Context, id string, bytes int64) (int64, error)
	// Snapshot takes a snapshot, or returns the one with the name. Errors: ErrNotFound, ErrLimit.
	Snapshot(ctx context.Context, volume, name string) (Snapshot, error)
	// DeleteSnapshot deletes a snapshot, if it exists.
	DeleteSnapshot(ctx context.Context, s SnapshotRef) error
	// Snapshots lists the snapshots of a volume, one snapshot, or all (zero ref), ordered by volume and snapshot id.
	Snapshots(ctx context.Context, of SnapshotRef) ([]Snapshot, error)
	// Volumes lists the cluster's volumes, ordered by id, and their attachments. The error names vCenters that do not respond;
	// it comes with the volumes of the others.
	Volumes(ctx context.Context) ([]Volume, []Attached, error)
	// Attachments returns the nodes that one volume is attached to. Error: ErrNotFound.
	Attachments(ctx context.Context, id string) ([]Attached, error)
}

// Segment is values of topology keys: {"topology.csi.vmware.com/k8s-zone": "us-west"}.
type Segment map[string]string

// Requirement selects the datastores for a volume.
type Requirement struct {
	// Requisite and Preferred are as in CSI's TopologyRequirement; if both are empty, every node must reach the volume.
	Requisite, Preferred []Segment
	Policy               string // name of a storage policy; empty for none
	DatastoreURL         string // that datastore only; empty for any
	// Capacity is the required free space, in bytes.
	Capacity int64
	// Share limits the choice to vSAN datastores, which can have a file service.
	Share bool
}

// Place is a set of datastores of one vCenter, with the segments whose nodes reach all of them.
type Place struct {
	VCenter    string
	PolicyID   string
	Datastores []Datastore
	Segments   []Segment
}

// Nodes maps the cluster's nodes to VMs and the datastores that their hosts mount. All methods are safe for concurrent use. A
// node that cannot be resolved, or a vCenter that is down, does not affect the others.
type Nodes interface {
	// Node returns the VM of a node id (BIOS UUID in either byte order). Errors: ErrNodeGone, ErrUnavailable.
	Node(ctx context.Context, id string) (Node, error)
	// Places returns the datastores for a volume, best first. Error: ErrNoDatastore, with the reason for each datastore.
	Places(ctx context.Context, r Requirement) ([]Place, error)
	// SegmentsOf returns the segments whose nodes reach the datastore: the topology of a volume on it.
	SegmentsOf(ctx context.Context, vcenter, datastoreURL string) ([]Segment, error)
}
