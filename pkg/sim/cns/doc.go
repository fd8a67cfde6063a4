// Package cns is the Cloud Native Storage of a simulated vCenter: a CnsVolumeManager at /vsanHealth that replaces vcsim's.
// Volumes are first-class disks on datastores. They are attached as devices of VMs, detached when a VM is removed, and refused
// where a vCenter refuses them.
//
// # Locks
//
// [Manager]'s lock guards its state and is the innermost: while it is held, nothing of vcsim is locked, called or waited for. An
// operation that needs both reads the state and marks the volume busy, releases the lock, changes vcsim's objects (each under its
// own lock, with a fresh Context: see internal/vc), then takes the lock again and records the result. Other operations wait for a
// busy volume.
//
// An operation that changes a VM's devices holds the VM's lock, so that slots are allocated one at a time. The order is always:
// the volume is busy, its VM is locked, then datastores or the catalogue of disks, then the manager's lock. Changes by other
// clients (a removed disk, a destroyed VM) are noticed under the VM's lock and recorded at once, even for a busy volume. A
// goroutine handles their consequences later, and takes the volume as any operation does.
//
// The vCenters of a process share nothing. vcsim's TaskDelay is never used.
//
// Floor 2: within pkg/sim it imports the shared internals, host, and corrections for messages of faults; it imports pkg/csi/disk for
// the contents of disks. Package sim installs it.
package cns
