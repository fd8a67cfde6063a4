// Package storage joins what Kubernetes says of a volume (claim, PersistentVolume, VolumeAttachments, pods) with what
// vSphere says of it (CNS's record, the VM that has the disk) into one row, and says in words what the volume waits for. A
// [Watcher] follows both planes and logs what becomes of claims, attachments and the pods that use them.
//
// Floor 3, below pkg/sandbox.
package storage
