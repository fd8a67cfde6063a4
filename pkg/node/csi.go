package node

// CSIConfig configures the CSI node service of one VM, which runs in the kubelet's process.
type CSIConfig struct {
	// ByIDDir is the VM's by-id folder, kept by [Links].
	ByIDDir string `json:"byIDDir"`
	// Kubeconfig is that of the account that reads the node's topology; empty: the service reports no topology.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	// Boot identifies this boot of the VM, such as by its boot time: mounts end with it. Empty: they do not.
	Boot string `json:"boot,omitempty"`
	// MaxVolumes is the node's limit of volumes; 0 for the driver's default, negative for no limit.
	MaxVolumes int64 `json:"maxVolumes,omitempty"`
	// Driver is the driver's name; empty for upstream's.
	Driver string `json:"driver,omitempty"`
}

// LongestSocket is the longest path, below a kubelet's root directory, of a socket of its CSI node service. The whole
// path must fit into a unix socket's address.
const LongestSocket = "/plugins_registry/csi.vsphere.vmware.com-reg.sock"
