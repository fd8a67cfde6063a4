// Package kubelet is the node child: the real kubelet of the linked Kubernetes release, hollow as kubemark makes it
// (no containers are run, no host is touched), in the guise of one virtual machine. [Run] is that process's whole life.
//
// With [node.Config].CSI it has the VM's CSI node service beside it, hollow too, registered with it as any driver is.
//
// One process, one kubelet: two in a process panic on their metrics.
//
// Floor 2. With pkg/cluster/embedded/controlplane the only importer of k8s.io/kubernetes.
package kubelet
