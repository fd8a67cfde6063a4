// Package hollow is the node service's backend for hollow nodes, which run unprivileged and have no block devices. A symlink in the
// VM's own by-id directory points to the disk directory (package disk) of an attached volume, and exists while it is attached.
// Publishing creates a symlink to the disk's content through that symlink, so that a detached volume disappears from everywhere,
// as a removed disk does. If the node is a container with real pods, content is published with bind mounts ([Options.Bind]).
//
// Floor 1: it does not depend on the simulator. The process that watches the VM updates the by-id directory (package node of
// floor 2).
package hollow
