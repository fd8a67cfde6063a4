// Package kubeconfig adds a sandbox's cluster, user and context to the kubeconfig file that kubectl reads by default, and
// removes them again. Everything else in the file stays; comments do not, as with kubectl. The file is replaced in one step,
// under the lock that kubectl takes.
//
// [Open] opens any other cluster that a kubeconfig names.
package kubeconfig
