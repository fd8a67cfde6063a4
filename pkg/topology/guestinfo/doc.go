// Package guestinfo computes the advanced configuration (extraConfig) of a VM of a topology: its own settings, those that a
// Kubernetes node needs, and the metadata for cloud-init's VMware data source.
//
// Floor 0: it depends only on the topology.
package guestinfo
