// Package rbac says what the cloud controller manager must be allowed to do, as the objects that allow it.
//
//	for _, o := range rbac.Objects(rbac.Config{Namespace: "kube-system", ServiceAccount: "cloud-controller-manager"}) { … }
//
// The sandbox creates these objects, manifests/ccm is printed from them, and the Helm chart renders the same. It talks to
// no API server.
//
// Floor 1: it imports nothing of this module.
package rbac
