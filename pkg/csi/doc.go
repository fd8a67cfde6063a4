// Package csi is the vSphere CSI driver: csi.vsphere.vmware.com, which keeps upstream's names, ids and parameters, so that
// volumes, StorageClasses and configuration files of one are those of the other.
//
// [Run] is the whole program, in one of two modes: controller, beside the stock sidecars, for all vCenters of the
// configuration; and node, on each node. The parts are packages of their own:
//
//	config         csi-vsphere.conf or vsphere.conf, credentials, connections: followed while it runs
//	nodes          which VM a node is, where it is, which datastores it reaches
//	nodetopology   CSINodeTopology objects, by which nodes learn their topology
//	store          CNS of all vCenters
//	controller     CSI's Controller service over those
//	node           CSI's Node service
//	identity, rpc  what both modes have
//	volume, names  the words between them
//
// It runs in production, where there is no sandbox. One vCenter that is down, one node that is not to be found, one wrong
// password never keeps it from serving the others, and never ends the process.
//
// Floor 1: of this module it imports its own packages, and those of pkg/provider that know vCenters.
package csi
