// Package sidecars has only tests: the stock sidecars under a real API server, each as its own ServiceAccount with the rights
// that pkg/csi/objects gives it, and a driver that keeps volumes in memory. Volumes are made, attached, expanded, taken
// snapshots of, restored and deleted; nothing that a sidecar asks for on the way is refused, and no right is there for
// nothing.
//
// The control plane is that of the built program: $VSPHERE_SANDBOX_BIN, or bin/vsphere-sandbox ("make build"); the sidecars
// are $VSPHERE_SANDBOX_SIDECARS, or are built.
//
// Floor 5: there is nothing to import.
package sidecars
