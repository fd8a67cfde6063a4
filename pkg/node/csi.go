package node

// CSIConfig is what the CSI node service of one VM needs, which runs in the kubelet's process.
type CSIConfig struct {
	// ByIDDir is the VM's own by-id folder, kept by [Links].
	ByIDDir string `json:"byIDDir"`
	// Kubeconfig is that of the account that reads the node's topology; empty: the service reports no topology.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	// Boot names this boot of the VM, such as its boot time: mounts do not outlive one. Empty: they do.
	Boot string `json:"boot,omitempty"`
	// MaxVolumes is how many volumes the node takes; 0 for the driver's default, negative for no limit.
	MaxVolumes int64 `json:"maxVolumes,omitempty"`
	// Driver is the driver's name; empty for upstream's.
	Driver string `json:"driver,omitempty"`
}

// LongestSocket is the longest path, below a kubelet's root directory, of a socket that is made there when it has a CSI node
// service. The whole must not be longer than the path of a unix socket can be.
const LongestSocket = "/plugins_registry/csi.vsphere.vmware.com-reg.sock"
