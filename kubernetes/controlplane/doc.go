// Package controlplane is the control-plane child: etcd, kube-apiserver, kube-controller-manager and kube-scheduler of
// the linked Kubernetes release, in one process. [Run] is the process's main function.
//
// It cannot run twice in a process, or beside a kubelet: Kubernetes keeps feature gates, metrics and logging in
// process-wide registries. Package embedded, which starts it as a child, does not link Kubernetes.
//
// Package contract, of the main module, has its configuration.
package controlplane
