// Package volume contains the types that the CSI services share with the packages that call vCenters: data types, errors that map
// to gRPC codes, and two interfaces, [Store] (the CNS of all vCenters) and [Nodes] (the VMs of nodes, and the datastores for
// their volumes).
//
// Floor 1: it imports nothing of this module.
package volume
