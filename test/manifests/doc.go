// Package manifests has only tests: what is deployed is what is meant. They render manifests/ccm with kustomize and the
// Helm chart with Helm, both as libraries, and compare the two, the rights in them with pkg/provider/rbac, and the
// configuration in them with what pkg/provider/config reads.
//
// It is a module of its own, so that neither Helm nor kustomize is one of this project's dependencies:
//
//	go -C test/manifests test -count=1 ./...
//
// Without -count=1 the go command does not see that a manifest changed: it looks for changes in this module only. Nothing is
// applied: there is no API server here.
package manifests
