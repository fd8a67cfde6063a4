// Package embedded is the default Kubernetes ground: a real control plane of the linked Kubernetes release that runs
// as a child process of the sandbox, on loopback, as an ordinary user, with a PKI of its own.
//
// This package is the parent's side: it makes keys and kubeconfigs ([New]), holds the listening socket, describes
// the child ([Cluster.Spec]) and says when it is ready ([Cluster.WaitReady]). What runs in the child is package
// controlplane, which alone links Kubernetes.
//
// Floor 2.
package embedded
