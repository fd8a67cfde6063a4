// Package embedded is the default Kubernetes ground: a control plane that runs as a
// child process of the sandbox, on loopback, as an ordinary user, with its own PKI.
//
// This package is the parent's side: it creates keys and kubeconfigs ([New]), holds the listening socket, describes the
// child ([Cluster.Spec]) and waits until it is ready ([Cluster.WaitReady]). The child is the Kubernetes program, the module
// kubernetes/; package contract has the command and the file that configures it.
//
// Floor 2.
package embedded
