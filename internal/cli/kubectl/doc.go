// Package kubectl is the commands that pass their arguments to a program of the sandbox's Kubernetes release, aimed at the
// sandbox: kubectl, and etcdctl.
package kubectl
