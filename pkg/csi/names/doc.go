// Package names is what the driver, its node service, Kubernetes objects and upstream's driver agree on: names, keys and
// forms of ids that are written into PersistentVolumes and must therefore never change.
//
// Floor 1: it imports nothing of this module.
package names
