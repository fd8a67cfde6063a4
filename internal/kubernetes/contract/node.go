package contract

import "github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"

// Node is the configuration of [NodeCommand], the kubelet of one VM. It has paths and no secrets.
type Node struct {
	// Name is the node's: the guest's hostname, in lower case as Kubernetes requires.
	Name string `json:"name"`
	// RootDir is the kubelet's root directory.
	RootDir    string `json:"rootDir"`
	Kubeconfig string `json:"kubeconfig"`
	// SystemUUID is the VM's BIOS UUID, which a guest reads from its firmware and reports as its own.
	SystemUUID string `json:"systemUUID"`
	CPUs       int    `json:"cpus"`
	// MemoryBytes is the VM's configured memory.
	MemoryBytes uint64 `json:"memoryBytes"`
	// OSImage and Kernel are what the guest reports.
	OSImage string     `json:"osImage"`
	Kernel  string     `json:"kernel"`
	Speed   pace.Speed `json:"speed"`
	// ControlPlane gives the node the taint that kubeadm gives its control-plane nodes.
	ControlPlane bool `json:"controlPlane,omitempty"`
	// Server is where the kubelet serves its API.
	Server NodeServer `json:"server"`
	// FeatureGates are the user's.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
	// CSI configures the CSI node service beside the kubelet; nil if the node takes no volumes of the driver.
	CSI *CSINode `json:"csi,omitempty"`
}

// ReadNode reads the file that [Node.Write] wrote. One of another contract is an [OtherVersionError].
func ReadNode(path string) (Node, error) { return read[Node](path) }

// Write stores the configuration, readable by its owner only.
func (n Node) Write(path string) error { return write(path, n) }

// NodeServer configures a kubelet's server. Its clients have certificates of the cluster's authority, or tokens.
type NodeServer struct {
	// Socket is the unix socket that it listens on, in place of [KubeletPort].
	Socket string `json:"socket"`
	// Certificate is the file of its serving certificate and key, which may be replaced at any time. ClientCA is that of the
	// authority of its clients' certificates.
	Certificate string `json:"certificate"`
	ClientCA    string `json:"clientCA"`
}

// CSINode configures the CSI node service of one VM, which runs in the kubelet's process or as a child of it.
type CSINode struct {
	// ByIDDir is the VM's by-id folder, kept by the sandbox.
	ByIDDir string `json:"byIDDir"`
	// Kubeconfig is that of the account that reads the node's topology; empty: the service reports no topology.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	// Boot identifies this boot of the VM, such as by its boot time: mounts end with it. Empty: they do not.
	Boot string `json:"boot,omitempty"`
	// MaxVolumes is the node's limit of volumes; 0 for the driver's default, negative for no limit.
	MaxVolumes int64 `json:"maxVolumes,omitempty"`
	// Driver is the driver's name; empty for upstream's.
	Driver string `json:"driver,omitempty"`
	// Service is a file with a [CSIService]: which program is the service, which may change while the kubelet runs. Empty, or no such
	// file: the built-in service in the kubelet's process.
	Service string `json:"service,omitempty"`
}

// CSIService is a program in place of the built-in node service. It takes the flags of cmd/vsphere-csi in node mode.
type CSIService struct {
	// Path is the program; empty for the built-in service.
	Path string `json:"path,omitempty"`
	// Env is added to the environment, as KEY=VALUE.
	Env []string `json:"env,omitempty"`
	// ByName: the service's id of the node is the Node's name, as in a guest cluster of a Supervisor, and not the VM's BIOS UUID.
	ByName bool `json:"byName,omitempty"`
}
