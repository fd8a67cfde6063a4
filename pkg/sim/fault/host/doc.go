// Package host is the faults of hosts and of what is made of hosts: compute clusters, zones, datacenters. The connection
// states of VMs, which follow from hosts and datastores, are here, too, as faults of a single VM.
//
// What a cluster does about it, with HA or DRS, is not a fault but its reaction (pkg/sim/react).
//
// Floor 2, inside pkg/sim/fault.
package host
