// Package cns is the Cloud Native Storage of a simulated vCenter: the CnsVolumeManager that answers at /vsanHealth in the
// place of vcsim's. Volumes are first class disks on datastores, attached as real devices of VMs, detached when a VM goes
// away, and refused where a vCenter refuses them.
//
// # Locks
//
// [Manager]'s own lock guards its state and is the innermost: nothing of vcsim is locked, called or waited for while it is
// held. An operation that needs both looks at the state and marks the volume busy, lets the lock go, changes vcsim's
// objects (each under its own lock, with a fresh Context: see internal/vc), takes the lock again and writes down what has
// become. A busy volume is not touched by another operation, which waits until it is free.
//
// Whoever changes a VM's devices holds its lock, so that slots are given out one at a time, and the order is always: a
// volume is busy, its VM is locked, then datastores or the catalogue of disks, then the manager's lock. What others do to
// VMs (somebody removes a disk, the VM is destroyed) is noticed under the VM's lock and written down at once, busy volume or
// not; what follows from it is done later, by a goroutine that takes the volume as any operation does.
//
// Nothing is shared between the vCenters of a process. vcsim's TaskDelay is never used.
//
// Floor 2: of pkg/sim it imports the shared internals, host, and truth for the words of faults, and pkg/csi/disk for the contents of disks; package sim puts
// it in place.
package cns
