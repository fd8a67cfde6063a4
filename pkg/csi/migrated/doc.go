// Package migrated supports volumes of the in-tree vSphere volume plugin, which Kubernetes had until 1.30. Their
// PersistentVolumes contain the file of a virtual disk, "[datastore] kubevols/a.vmdk", which Kubernetes passes to the CSI
// driver as the volume's id.
//
//	s := migrated.New(migrated.Config{CNS: store, Records: migrated.NewRecords(dynamic), DatastoreURL: url, Logger: log})
//	c := controller.New(controller.Config{Store: s, Migrated: s, Nodes: nodes})
//
// A [Store] is a layer above CNS. On the first call with such an id it registers the disk in CNS, attached or not, and
// protects it from deletion with a VM. It records that in a CnsVSphereVolumeMigration object, upstream's format: from then on
// the id stands for that volume, wherever its disk is moved and whichever process uses it. Other ids are passed through.
//
// A path contains neither vCenter nor datacenter. If several have a datastore with that name, the configured
// migration-datastore-url decides; without it, the volume is refused. Expansion and snapshots are refused, as upstream.
//
// Floor 1: of this module it imports package csi's vocabulary alone.
package migrated
