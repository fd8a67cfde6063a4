// Package node makes a Kubernetes node of a virtual machine: a kubelet in a process of its own whose life follows the
// VM's. Powered off is killed, suspended is stopped (SIGSTOP), reset is killed and started again when the guest is up,
// hung is stopped while the vCenter sees nothing, destroyed is gone.
//
// A [Node] is told what its VM is like by whoever watches the vCenter ([Node.Observe]); it knows no simulator, so the VM
// may be a real one. What runs in the process is package kubelet, which alone links Kubernetes.
//
// Volumes are disks of the VM: a Node keeps a link to each ([Links]) where the guest's CSI node service, which runs in the
// kubelet's process, looks for them.
//
// Floor 2.
package node
