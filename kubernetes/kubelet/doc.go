// Package kubelet is the node child: the kubelet of the linked Kubernetes release, hollow as in kubemark (it runs no
// containers and does not change the host), configured as one VM. [Run] is the process's main function.
//
// With [contract.Node].CSI the VM's CSI node service runs beside it, hollow too, and registers as any driver does.
//
// One kubelet per process: two in a process panic on their metrics.
//
// Package contract, of the main module, has its configuration.
package kubelet
