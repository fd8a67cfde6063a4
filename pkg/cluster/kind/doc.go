// Package kind is the Kubernetes ground in containers: a cluster that kind makes, with one container for each VM that is a
// node, through Docker, Podman or nerdctl. Kubernetes is as real as kubeadm sets it up, so pods run and volumes are mounted.
//
//	c, err := kind.New(kind.Options{Name: "demo", Dir: dir, Speed: 10, Image: image, Nodes: []kind.Node{
//		{Name: "cp-1", UUID: "42010000-…", ControlPlane: true}, {Name: "worker-1", UUID: "42020000-…"},
//	}})
//	if err := c.Create(ctx); err != nil { … }            // nothing is left of what failed
//	defer c.Delete(ctx)
//	addr, err := c.Expose(ctx, "127.0.0.11:443")         // what the nodes dial to reach that vCenter
//
// [New] touches nothing but memory: it renders kind's configuration, merges the user's own, and knows the addresses that
// certificates have to name. [Plan] prints the same. What belongs to a cluster is known again by what is mounted in its
// containers, so that a sandbox that was killed is cleared away by the next ([Reap]), and a cluster of somebody else never.
//
// A container is what stands for a VM; how it follows the VM's life is package machine's, the commands are package
// runtime's.
//
// # The control plane
//
// There is one container with an API server and etcd: that of the first VM whose role is control-plane. It is the VM's: with
// the VM's power goes the cluster's API. Further control-plane VMs are nodes with the control plane's label and taint, but
// no API server. kind would put a load balancer before several, whose image is not part of a node image and cannot be
// had where there is no registry; a cluster that is made one way here and another way there, by which images happen to be
// present, would be worse than one that is always the same. A topology without a control-plane VM gets a further node,
// which is no VM: no cloud provider is told of it, and it has the providerID that kind gives.
//
// # The user's own configuration
//
// [Options.UserConfig] is a kind configuration as `kind create cluster --config` takes it. What it says of the cluster
// (networking, featureGates, runtimeConfig, containerdConfigPatches) is taken as it is; its kubeadmConfigPatches come after
// ours, so theirs win. Its nodes describe those of the topology by order within a role: the first entry with the
// role control-plane is the control plane, the n-th worker entry the n-th other node; labels, mounts, ports and
// patches are added to ours. It can add no nodes: those are VMs of a topology. What a sandbox has to decide itself (the
// cluster's name, the nodes' names and images, the cloud provider, providerIDs, mounts of ours) is refused with its line.
//
// # What a node offers
//
// A node sees the processors and the memory of the machine of the containers. Where its VM has less ([Node.CPUs],
// [Node.MemoryBytes]), the rest is reserved, so what pods may ask for is the VM's, and what they take together is limited to
// it. The node with the API server is left alone.
//
// # How fast
//
// [Options.Speed] reaches what has a setting: kubelets, the controller manager's periods, the default tolerations. Two
// periods of the controller manager have none, upstream's six minutes until a volume is detached by force among them; a
// node image of hack/kind-node takes them from its environment, any other keeps upstream's.
//
// Floor 2. Only this tree imports sigs.k8s.io/kind.
package kind
