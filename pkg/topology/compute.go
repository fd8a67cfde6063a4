package topology

// Cluster is a compute cluster.
type Cluster struct {
	Name  string `json:"name"`
	Place `json:",inline"`
	Marks `json:",inline"`
	// Hosts holds at least one.
	Hosts []Host `json:"hosts"`
	// Pools are resource pools below the cluster's own, VApps vApps.
	Pools []Pool `json:"pools,omitempty"`
	VApps []VApp `json:"vapps,omitempty"`
}

// Host is an ESXi host.
type Host struct {
	// Name is a DNS name, unique in its vCenter. In a group of replicas it may hold {n} (or {nn}, {nnn}: zero-padded),
	// the replica's number from 1; without one, the replicas get "-1", "-2" … appended.
	Name string `json:"name"`
	// Replicas makes that many hosts of one entry; zero in a resolved topology.
	Replicas int `json:"replicas,omitempty"`
	// Place may hold {n} too, so that every host of a group can be a zone; so may the names of tags.
	Place `json:",inline"`
	Marks `json:",inline"`
	// CPUs are cores (default 16), Memory defaults to 64Gi.
	CPUs   int32 `json:"cpus,omitempty"`
	Memory Bytes `json:"memory,omitempty"`
	// Pools are resource pools of a standalone host; hosts of a cluster have none of their own.
	Pools []Pool `json:"pools,omitempty"`
}

// Pool is a resource pool.
type Pool struct {
	Name  string `json:"name"`
	Marks `json:",inline"`
	Pools []Pool `json:"pools,omitempty"`
	VApps []VApp `json:"vapps,omitempty"`
}

// VApp is a vApp: a pool that is started and stopped as one.
type VApp struct {
	Name  string `json:"name"`
	Marks `json:",inline"`
}
