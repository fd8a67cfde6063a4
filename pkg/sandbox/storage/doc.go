// Package storage joins the objects of a volume in Kubernetes (claim, PersistentVolume, VolumeAttachments, pods) and in vSphere
// (CNS's record, the VM that has the disk) into one row, and explains what the volume waits for. A [Watcher] follows both
// planes and logs the changes of claims, attachments and the pods that use them.
//
// Floor 3, below pkg/sandbox.
package storage
