// Package csi is the vSphere CSI driver, csi.vsphere.vmware.com. It keeps the names, ids and parameters of upstream's driver,
// so that volumes, StorageClasses and configuration files work with both.
//
// [Run] is the whole program, in one of two modes: the controller runs beside the stock sidecars and serves all configured
// vCenters, and the node service runs on each node. These are the parts:
//
//	config         csi-vsphere.conf or vsphere.conf, credentials and connections, with reload
//	nodes          the VM of a node, its topology, and the datastores that it reaches
//	nodetopology   CSINodeTopology objects, which give nodes their topology
//	store          volumes in the CNS of all vCenters
//	controller     the CSI Controller service
//	node           the CSI Node service
//	identity, rpc  the CSI Identity service and the gRPC server of both modes
//	volume, names  the types and names that the others share
//
// The driver runs in production without the sandbox. A vCenter that is down, a node without a VM or a wrong password does not
// affect the other vCenters and nodes, and does not end the process.
//
// Floor 1: of this module it imports its own packages, and those of pkg/provider that connect to vCenters.
package csi
