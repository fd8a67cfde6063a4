// Package names has the names, keys and forms of ids that the driver shares with Kubernetes objects and with upstream's
// driver. They are stored in PersistentVolumes and must never change.
//
// Floor 1: it imports nothing of this module.
package names
