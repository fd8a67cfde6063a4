// Package config is the configuration of the CSI driver, from either of two files: csi-vsphere.conf, with the keys of
// upstream's kubernetes-sigs/vsphere-csi-driver, or vsphere.conf, the one of the cloud controller manager (package
// provider/config), which then serves both.
//
//	[Global]
//	cluster-id = "my-cluster"
//	[VirtualCenter "vc-west.example"]
//	user = "csi@vsphere.local"
//	password = "…"
//	datacenters = "west"
//	[Labels]
//	topology-categories = "k8s-region, k8s-zone"
//
// Reading is strict: a key that nobody knows is an error with its line and the nearest known key; one that upstream has
// and that means nothing here is accepted, and told with the reason.
//
// A [Source] follows the file, and the Secrets or directories that hold credentials, and keeps a connection for each
// vCenter: a changed password is used from the next login on, a changed vCenter gets another connection, and nothing needs
// a restart. What cannot be used leaves what was read last in force.
//
// Floor 1: of this module it imports provider/config and provider/vcenter.
package config
