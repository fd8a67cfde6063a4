// Package kubeconfig puts a sandbox's cluster, user and context into the kubeconfig file that kubectl reads by itself,
// and takes them out again. Everything else in the file stays; comments do not, as with kubectl itself.
//
// The file is replaced in one step, under the lock that kubectl takes.
package kubeconfig
