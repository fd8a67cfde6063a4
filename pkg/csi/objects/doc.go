// Package objects returns the Kubernetes objects that the CSI driver needs: ServiceAccounts and their permissions, the CSIDriver,
// StorageClasses, a VolumeSnapshotClass, and the definitions of custom resources.
//
//	all, err := objects.All(objects.Config{Policies: []string{"gold"}})
//
// The sandbox creates these objects, manifests/csi is generated from them, and the Helm chart renders the same. The package makes
// no API calls. It does not include the processes: the sandbox starts programs, the manifests pods.
//
// Floor 1: of this module it imports its siblings names, migrated and nodetopology.
package objects
