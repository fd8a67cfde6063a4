// Package host has the faults of hosts and of what contains hosts: compute clusters, zones, datacenters. It also has the
// connection states of a single VM, which follow from hosts and datastores.
//
// HA and DRS, the reactions of a cluster, are in pkg/sim/react.
//
// Floor 2, inside pkg/sim/fault.
package host
