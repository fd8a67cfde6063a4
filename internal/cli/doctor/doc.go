// Package doctor is the command that reports whether this host can run sandboxes, and cleans up what dead ones left; for
// real vCenters it reports what a cloud provider and a CSI driver cannot do there, and whether the nodes of a cluster are
// their VMs.
package doctor
