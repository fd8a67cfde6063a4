// Package manifests has only tests of what is deployed. They render manifests/ccm with kustomize and the Helm chart with
// Helm, both as libraries, and compare the two, their permissions with pkg/provider/rbac, and their configuration with
// what pkg/provider/config reads.
//
// It is a separate module, so that neither Helm nor kustomize is one of this project's dependencies:
//
//	go -C test/manifests test -count=1 ./...
//
// Without -count=1 the go command does not notice a changed manifest: it looks for changes in this module only. Nothing
// is applied: there is no API server here.
package manifests
