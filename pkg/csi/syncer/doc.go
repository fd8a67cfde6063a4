// Package syncer keeps the records of volumes in CNS in agreement with Kubernetes, as upstream's vsphere-syncer does: the vSphere
// Client shows for each container volume its PersistentVolume, its claim and its pods, with their labels.
//
// It watches PersistentVolumes, claims and pods. A change is written to CNS about a second later, with those of other volumes. A full
// sync, at the start, periodically, and when an administrator raises the number in a TriggerCsiFullSync object, reads all records of
// the cluster and corrects them.
//
// A PersistentVolume that names an existing first-class disk (static provisioning) is registered as a volume when it is bound.
// A volume whose PersistentVolume is deleted, and which the driver does not delete, is removed from CNS. Its disk stays.
//
// Floor 1: it imports nothing of this module but its siblings names and volume.
package syncer
