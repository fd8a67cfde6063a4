// Package kind creates a Kubernetes cluster in containers with kind: one container for each VM that is a node, through
// Docker, Podman or nerdctl. Pods run and volumes are mounted, since kubeadm sets up all of Kubernetes.
//
//	c, err := kind.New(kind.Options{Name: "demo", Dir: dir, Speed: 10, Image: image, Nodes: []kind.Node{
//		{Name: "cp-1", UUID: "42010000-…", ControlPlane: true}, {Name: "worker-1", UUID: "42020000-…"},
//	}})
//	if err := c.Create(ctx); err != nil { … }            // a failed Create leaves nothing
//	defer c.Delete(ctx)
//	addr, err := c.Expose(ctx, "127.0.0.11:443")         // what the nodes dial to reach that vCenter
//
// [New] only computes: it renders kind's configuration, merges the user's, and determines the addresses for certificates.
// [Plan] returns the same as text. A cluster is identified by the mounts of its containers: the next sandbox of the name
// removes the remains of one that was killed ([Reap]), and never another owner's cluster.
//
// Package guest makes a container follow the life cycle of its VM; package runtime runs the commands of the container
// runtime.
//
// # The control plane
//
// One container has the API server and etcd: that of the first VM with the role control-plane. When this VM loses power,
// so does the API. Further control-plane VMs are nodes with the control plane's label and taint, without an API server.
// kind would put a load balancer before several API servers, but its image is not part of a node image and needs a
// registry; the same topology must not give different clusters depending on the images present. A topology without a
// control-plane VM gets an additional node that is no VM: the cloud provider does not manage it, and it keeps kind's
// providerID.
//
// # The user's own configuration
//
// [Options.UserConfig] is a kind configuration as for `kind create cluster --config`. Settings of the cluster
// (networking, featureGates, runtimeConfig, containerdConfigPatches) are used unchanged; kubeadmConfigPatches are
// appended to ours, so they win. Nodes match those of the topology in order within a role: the first control-plane entry
// is the control plane, the n-th worker entry the n-th other node; labels, mounts, ports and patches are added to ours.
// Nodes cannot be added: they are VMs of a topology. Settings that the sandbox needs (the cluster's name, nodes' names
// and images, the cloud provider, providerIDs, our mounts) are rejected with their line.
//
// # What a node offers
//
// A node sees the CPUs and memory of the containers' host. If its VM has less ([Node.CPUs], [Node.MemoryBytes]), the
// difference is reserved: pods can request what the VM has, and are limited to it together. The node with the API server
// is not limited.
//
// # How fast
//
// [Options.Speed] scales what has a setting: kubelets, the controller manager's periods, the default tolerations. Two
// periods of the controller manager have none, among them the six minutes until a volume is detached by force. A node
// image of hack/kind-node reads these from its environment; others keep upstream's values.
//
// Floor 2. Only this tree imports sigs.k8s.io/kind.
package kind
