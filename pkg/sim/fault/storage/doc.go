// Package storage is the faults of datastores, of disks and their attachment, and of the tasks that everything of that kind
// is.
//
// Floor 2, inside pkg/sim/fault.
package storage
