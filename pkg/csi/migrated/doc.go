// Package migrated is volumes of the vSphere volume plugin that was part of Kubernetes until 1.30: its PersistentVolumes name
// a virtual disk by its file, "[datastore] kubevols/a.vmdk", and Kubernetes hands that to the CSI driver as the volume's id.
//
//	s := migrated.New(migrated.Config{CNS: store, Records: migrated.NewRecords(dynamic), DatastoreURL: url, Logger: log})
//	c := controller.New(controller.Config{Store: s, Migrated: s, Nodes: nodes})
//
// A [Store] stands before CNS. The first call about such an id has CNS make a volume of the disk as it lies there, whether a
// VM has it or not, and protects it from being deleted with a VM. That is written down in a CnsVSphereVolumeMigration object,
// upstream's: from then on the id stands for that volume wherever its disk is moved to, and whichever process asks. Ids that
// are no paths pass through.
//
// A path says neither vCenter nor datacenter. Where several have a datastore of that name, the configured
// migration-datastore-url decides; without that, the volume is refused, never guessed. Expansion and snapshots are refused, as
// upstream refuses them.
//
// Floor 1: of this module it imports package csi's vocabulary alone.
package migrated
