package api

// Ground is what a sandbox stands on.
type Ground struct {
	// Cluster is the Kubernetes cluster: embedded (a process, with what its nodes take beside it), kind (containers), pod (the
	// cluster that the sandbox itself is a pod of), existing (one that was there before, and is others'), or none (vCenters only).
	Cluster string `json:"cluster"`
	// Inventory is simulated or real: whose the vCenters are.
	Inventory string `json:"inventory"`
	// Writable tells whether VMs can be changed: those of simulated vCenters always, those of real ones in the scope that it
	// was started with, each time somebody confirms it.
	Writable bool `json:"writable"`
	// Nodes is what stands for a node: hollow (a kubelet's process), container, light (one process for all), mixed, light
	// ones beside the others, or real, a machine of its own whose kubelet is not the sandbox's; "" where there is none.
	Nodes string `json:"nodes,omitempty"`
}

// The values of [Ground].
const (
	ClusterEmbedded = "embedded"
	ClusterKind     = "kind"
	ClusterPod      = "pod"
	ClusterExisting = "existing"
	ClusterNone     = "none"

	InventorySimulated = "simulated"
	InventoryReal      = "real"

	NodesHollow    = "hollow"
	NodesLight     = "light"
	NodesMixed     = "mixed"
	NodesContainer = "container"
	NodesReal      = "real"
)

// The values of [VCenter.Real].
const (
	RealReadOnly = "read-only"
	RealWritable = "writable"
)

// Real says of real vCenters what may be done to them, as [VCenter.Real] does; "" for simulated ones.
func (g Ground) Real() string {
	switch {
	case g.Inventory != InventoryReal:
		return ""
	case g.Writable:
		return RealWritable
	}
	return RealReadOnly
}
