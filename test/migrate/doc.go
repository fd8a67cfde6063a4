// Package migrate has only tests: a cluster of the in-tree vSphere provider is led to the cloud controller manager and the CSI
// driver, through the built program ($VSPHERE_SANDBOX_BIN, or bin/vsphere-sandbox: "make build").
//
// The world of before is what such a cluster leaves behind: a vsphere.conf of the in-tree form, a disk in the folder kubevols
// that a VM has had attached and written to, a PersistentVolume that names it by its path. Kubernetes has had no code for
// such volumes since 1.30, so before means: after the upgrade, with the pods of these volumes drained.
//
// Floor 5: there is nothing to import.
package migrate
