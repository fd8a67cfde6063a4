// Package contract is what the main program and the Kubernetes program agree on: the commands of the latter, the files that
// configure them, and the handshake that finds a program of another contract before anything starts.
//
// The Kubernetes program (the nested module kubernetes/) is the control plane and the kubelet of one Kubernetes release. It is
// built once for each minor version, and may come from elsewhere. [Version] changes with every change of this package after
// which a program built before cannot run a sandbox.
//
// Floor 0: plain data.
package contract
