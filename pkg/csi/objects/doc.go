// Package objects says what a cluster needs to have for the CSI driver: who its processes are and what they may do, the
// CSIDriver, StorageClasses, a VolumeSnapshotClass, and the definitions of custom resources.
//
//	all, err := objects.All(objects.Config{Policies: []string{"gold"}})
//
// The sandbox creates these objects, manifests/csi is printed from them, and the Helm chart renders the same. It talks to
// no API server. How the processes are started is not said here: the sandbox starts programs, the manifests pods.
//
// Floor 1: of this module it imports its siblings names, migrated and nodetopology.
package objects
