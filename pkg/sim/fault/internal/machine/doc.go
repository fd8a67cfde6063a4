// Package machine is what the kinds of faults of VMs have in common: the VM as it is now, its power, its tasks.
//
// Floor 2, inside pkg/sim.
package machine
