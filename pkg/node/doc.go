// Package node turns a VM into a Kubernetes node: a kubelet in a separate process that follows the VM's life cycle.
// Powered off or destroyed: killed. Suspended: stopped (SIGSTOP). Reset: killed, and started again when the guest is up.
// Hung: stopped while the vCenter shows no change.
//
// The caller watches the vCenter and passes the VM's state to a [Node] ([Node.Observe]). The package does not depend on the
// simulator, so the VM may be in a vCenter of the user. The process is the Kubernetes program, the module
// kubernetes/; package contract has the file that configures it.
//
// Volumes are disks of the VM: a Node keeps a link to each ([Links]) where the guest's CSI node service, which runs in
// the kubelet's process, looks for them.
//
// Floor 2.
package node
