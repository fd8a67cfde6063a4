// Package storage has the faults of datastores, of disks and their attachment, and of storage tasks.
//
// Floor 2, inside pkg/sim/fault.
package storage
