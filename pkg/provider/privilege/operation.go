package privilege

// Operation is something that the cloud provider or the driver does, in words.
type Operation string

// What the cloud provider does for a node.
const (
	InitializeNode Operation = "initialize a node"
	ZoneOfNode     Operation = "label a node with region and zone"
	ShutdownNode   Operation = "tell that a node's VM is off"
)

// What the driver does for a volume.
const (
	NodeTopology     Operation = "tell a node its topology"
	CreateVolume     Operation = "create a volume"
	CreateWithPolicy Operation = "create a volume of a storage policy"
	CreateFrom       Operation = "create a volume from a snapshot"
	AttachVolume     Operation = "attach a volume"
	DetachVolume     Operation = "detach a volume"
	ExpandVolume     Operation = "expand a volume"
	TakeSnapshot     Operation = "take a snapshot"
	DeleteSnapshot   Operation = "delete a snapshot"
	ListVolumes      Operation = "list volumes"
	ListSnapshots    Operation = "list snapshots"
	DeleteVolume     Operation = "delete a volume"
)
