// Package hollow is the node service's backend of hollow nodes, which run unprivileged and have no devices: a link in the
// VM's own by-id folder leads to the disk directory (package disk) of a volume that is attached to the VM, and is there
// for as long as it is. Publishing makes a link to the disk's content by way of that link, so that a volume which is
// detached is gone from wherever it was published, as a disk that is pulled out is. Where a node is a container its pods are
// real ones, and content is published by bind mounts ([Options.Bind]).
//
// Floor 1: it knows no simulator. Whoever watches the VM keeps the by-id folder (package node of floor 2 does).
package hollow
