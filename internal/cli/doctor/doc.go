// Package doctor is the command that reports whether this machine can run sandboxes, and clears away what dead ones left; of
// real vCenters it tells what a cloud provider and a CSI driver will not be able to do there, and whether the nodes of a
// cluster are their VMs.
package doctor
