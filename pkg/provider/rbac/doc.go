// Package rbac returns the RBAC objects with the permissions that the cloud controller manager needs.
//
//	for _, o := range rbac.Objects(rbac.Config{Namespace: "kube-system", ServiceAccount: "cloud-controller-manager"}) { … }
//
// The sandbox creates these objects, manifests/ccm is generated from them, and the Helm chart renders the same. The package
// makes no API calls.
//
// Floor 1: it imports nothing of this module.
package rbac
