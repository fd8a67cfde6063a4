// Package runtime is the container runtime of a hollow kubelet: it keeps the states of sandboxes and containers as a real one
// reports them, and runs no process. The kubelet calls it in its own process, through the interfaces of the CRI.
//
// What a container does is decided in this order:
//   - the pod's annotation [BehaviorKey], or [BehaviorKey] with a dot and the container's name;
//   - a shell command, or a tool of package shell, which that package interprets in the container's volumes;
//   - otherwise it runs until it is stopped. An init container, and a container of a Job, ends at once with 0.
//
// Its memory is that of one boot of a VM: a new process has no containers. Logs, volumes and a VM's own files stay.
package runtime
