// Package guestinfo makes the advanced configuration (extraConfig) that a VM of a topology has: what it says itself, what
// a Kubernetes node needs, and the metadata that cloud-init's VMware data source reads.
//
// Floor 0: it follows from the topology alone, for whoever makes the VM.
package guestinfo
