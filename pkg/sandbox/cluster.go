package sandbox

import (
	"net/netip"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/existing"
)

// Cluster says which Kubernetes cluster a sandbox has. The zero value is one of its own, in processes.
type Cluster struct {
	// Kind has kind make it.
	Kind *Kind
	// Pod is the pod that this process is: then the cluster is the one that it is a pod of.
	Pod *Pod
	// Theirs is one that was there before, with nodes that are VMs of [Options.Real].
	Theirs *Theirs
}

// Theirs is a cluster that was there before, and is others': its nodes are VMs of real vCenters, and stay what they are. This
// process watches it, and has a cloud controller manager work on it if [CCM.None] is not set.
type Theirs struct {
	// Target is where it is. The zero value is where kubectl goes.
	Target existing.Target
	// BesideController has a cloud controller manager run beside one that is there.
	BesideController bool
}

// Pod is the pod of a cluster that the sandbox is: every node is a light one, whose kubelet is in another pod, and the cloud
// controller manager runs beside it. All fields are required.
type Pod struct {
	// Name, Namespace and IP are its own, Node where it is.
	Name, Namespace, Node string
	IP                    netip.Addr
	// ControlPort is where the control API answers on its loopback address, for port-forwards; each vCenter does at the port
	// that it has on IP. FeedPort, on IP, is where light nodes learn of their machines.
	ControlPort, FeedPort int
	// FeedDir has what that is protected with: tls.crt, tls.key and token.
	FeedDir string
}

// Kind is a cluster that kind makes, in which a container stands for each VM that is a node, and the cloud controller
// manager and the CSI driver are pods. The zero value is useful.
type Kind struct {
	// Image is the image of its nodes, by a name that the container runtime knows or can pull. Default: one for this
	// Kubernetes that it has.
	Image string
	// Config is a configuration of kind's that is merged into the one made; ConfigFile is what errors call it.
	Config     []byte
	ConfigFile string
	// Volumes is what volumes are: KindVolumesDevice, KindVolumesDir, or "", which is the first where it is possible.
	Volumes string
	// Retain keeps the containers when the sandbox does not come up, because of the cluster or of what comes after it. They are
	// in its directory's note then ([KindRuntime]).
	Retain bool
}

// The values of [Kind].Volumes.
const (
	KindVolumesDevice = "device" // block devices, for which this machine makes loop devices: that takes root on Linux
	KindVolumesDir    = "dir"    // directories, bind mounted
)
