package volume

import "time"

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
