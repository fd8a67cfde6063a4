// Package config is the configuration of the CSI driver, from one of two files: csi-vsphere.conf, with the keys of
// upstream's kubernetes-sigs/vsphere-csi-driver, or vsphere.conf of the cloud controller manager (package provider/config),
// which then configures both.
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
// Parsing is strict: an unknown key is an error with its line and the nearest known key. A key of upstream's without effect
// here is accepted with a warning that gives the reason.
//
// A [Source] watches the file, and the Secrets or directories with credentials, and keeps a connection to each vCenter. A
// changed password is used from the next login on, a changed vCenter gets a new connection, and nothing needs a restart. An
// invalid change leaves the last valid configuration in force.
//
// Floor 1: of this module it imports provider/config and provider/vcenter.
package config
