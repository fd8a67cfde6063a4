package check

// Report is a cluster with its vCenters as they were when they were looked at.
type Report struct {
	// Cluster is what the cluster is called, and Version that of its API server.
	Cluster string `json:"cluster"`
	Version string `json:"version,omitempty"`
	// InTree says that something of the in-tree provider was seen: a flag, a volume, a class.
	InTree   bool      `json:"inTree"`
	VCenters []VCenter `json:"vcenters"`
	Nodes    []Node    `json:"nodes"`
	Volumes  []Volume  `json:"volumes"`
	Classes  []Class   `json:"storageClasses"`
	// Inline are the pods that name a disk of vSphere themselves, NAMESPACE/NAME.
	Inline   []string  `json:"inlineVolumes,omitempty"`
	Findings []Finding `json:"findings"`
}

// VCenter is one that was asked.
type VCenter struct {
	Name   string `json:"name"`
	Server string `json:"server"`
	// Datastores are those that volumes and classes of the in-tree provider are in, by name, with their URLs.
	Datastores map[string]string `json:"datastores,omitempty"`
}

// Node is a node with its VM.
type Node struct {
	Name         string `json:"name"`
	ControlPlane bool   `json:"controlPlane,omitempty"`
	Kubelet      string `json:"kubelet,omitempty"`
	SystemUUID   string `json:"systemUUID,omitempty"`
	ProviderID   string `json:"providerID,omitempty"`
	// Uninitialized says that it waits for a cloud provider.
	Uninitialized bool `json:"uninitialized,omitempty"`
	// Zone and Region are those of the labels topology.kubernetes.io, OldZone and OldRegion of
	// failure-domain.beta.kubernetes.io.
	Zone      string `json:"zone,omitempty"`
	Region    string `json:"region,omitempty"`
	OldZone   string `json:"oldZone,omitempty"`
	OldRegion string `json:"oldRegion,omitempty"`
	// Driver says that the CSI driver is registered, and Migrated that its kubelet hands volumes of the in-tree provider to it.
	Driver   bool `json:"csiDriver,omitempty"`
	Migrated bool `json:"csiMigrated,omitempty"`
	// VM is nil where none was found.
	VM *VM `json:"vm,omitempty"`
}

// VM is what a node runs on.
type VM struct {
	VCenter string `json:"vcenter"`
	Path    string `json:"path"`
	UUID    string `json:"uuid"`
	// Match is how it was found: "uuid", "uuid, other byte order", and "provider ID" with the same ending.
	Match           string `json:"match"`
	Power           string `json:"power"`
	Hostname        string `json:"hostname,omitempty"`
	HardwareVersion string `json:"hardwareVersion,omitempty"`
	DiskUUID        bool   `json:"diskUUID"`
	Region          string `json:"region,omitempty"`
	Zone            string `json:"zone,omitempty"`
}

// Volume is a PersistentVolume of the in-tree provider.
type Volume struct {
	Name string `json:"name"`
	// Path is its disk, "[DATASTORE] FOLDER/FILE.vmdk".
	Path string `json:"path"`
	// Datastore is the part in brackets; VCenter has a datastore of that name and is empty where none or several do.
	Datastore string `json:"datastore,omitempty"`
	VCenter   string `json:"vcenter,omitempty"`
	// Disk is "found", "missing", or why it is not known.
	Disk string `json:"disk"`
	// Phase is the volume's: Bound. Claim is NAMESPACE/NAME.
	Phase string `json:"phase"`
	Claim string `json:"claim,omitempty"`
	Class string `json:"storageClass,omitempty"`
	// Reclaim is what becomes of its disk without a claim: Delete, Retain.
	Reclaim string `json:"reclaimPolicy,omitempty"`
	// Pods that have the claim, NAMESPACE/NAME, and the nodes that it is attached to.
	Pods     []string `json:"pods,omitempty"`
	Attached []string `json:"attachedTo,omitempty"`
	// Handle is what the CSI driver gets to see of it, and Topology the labels that its nodes must have then.
	Handle   string            `json:"csiHandle,omitempty"`
	Topology map[string]string `json:"csiTopology,omitempty"`
}

// Class is a StorageClass of the in-tree provider.
type Class struct {
	Name       string            `json:"name"`
	Parameters map[string]string `json:"parameters,omitempty"`
	// CSI are the parameters that the CSI driver gets while the class is translated, and not converted.
	CSI map[string]string `json:"csiParameters,omitempty"`
	// Default says that it is the one of claims that name none.
	Default bool `json:"default,omitempty"`
}

// Count is how many findings have the verdict.
func (r *Report) Count(v Verdict) int {
	n := 0
	for _, f := range r.Findings {
		if f.Verdict == v {
			n++
		}
	}
	return n
}
