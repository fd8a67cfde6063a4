// Command vsphere-sandbox-kubernetes is the Kubernetes of a sandbox: the control plane, or the kubelet of one VM, of the
// Kubernetes release that its module file requires. The main program starts it; package contract says how.
//
// It is a separate module, built once for each minor version: go.mod is that of the default one, and the module files
// beside it are those of the others (go build -modfile). So neither the main program nor what imports its packages requires
// k8s.io/kubernetes and its replacements.
package main
