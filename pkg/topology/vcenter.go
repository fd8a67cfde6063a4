package topology

// VCenter is one vSphere management endpoint.
type VCenter struct {
	// Name is a DNS label, unique in the topology.
	Name string `json:"name"`
	// InstanceUUID is the vCenter's own. Derived when absent.
	InstanceUUID string `json:"instanceUUID,omitempty"`
	// Folders are datacenter folders that need tags; folders named by a Datacenter exist without being listed here.
	Folders []Folder `json:"folders,omitempty"`
	// Datacenters holds at least one.
	Datacenters []Datacenter `json:"datacenters"`
}

// Folder is a folder of datacenters, by its path below the root ("americas/west").
type Folder struct {
	Path  string `json:"path"`
	Place `json:",inline"`
}

// Datacenter holds everything a VM needs.
type Datacenter struct {
	// Name is unique in its vCenter, whatever the folder: cloud configurations name datacenters without their folders.
	Name string `json:"name"`
	// Folder is the path of the folder that holds it; empty means the root folder.
	Folder string `json:"folder,omitempty"`
	Place  `json:",inline"`

	// Networks defaults to one "VM Network".
	Networks []Network `json:"networks,omitempty"`
	// Datastores defaults to one named "<datacenter>-ds", mounted everywhere.
	Datastores []Datastore `json:"datastores,omitempty"`
	Clusters   []Cluster   `json:"clusters,omitempty"`
	// Hosts are standalone hosts.
	Hosts []Host `json:"hosts,omitempty"`
	VMs   []VM   `json:"vms,omitempty"`
}

// Network is a standard network, seen by every host of its datacenter.
type Network struct {
	Name string `json:"name"`
}

// Datastore is a VMFS datastore.
type Datastore struct {
	Name string `json:"name"`
	// Capacity is written as a Kubernetes quantity ("500Gi"). Default 1Ti.
	Capacity Bytes `json:"capacity,omitempty"`
	// Hosts mount it, by name; empty means every host of the datacenter.
	Hosts []string `json:"hosts,omitempty"`
}
