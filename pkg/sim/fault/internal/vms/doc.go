// Package vms has what the faults of VMs share: reading a VM, its power, its tasks.
//
// Floor 2, inside pkg/sim.
package vms
