// Package dir is the node service's backend for nodes without block devices. A volume is a directory (package disk) below a root
// directory, created when it is first staged. It is published with a bind mount if the service is root, otherwise with a symlink.
// If all nodes share the root directory, the content moves with the volume from node to node.
//
// A volume's directory is never deleted, because a node is not notified of a volume's deletion.
//
// Floor 1.
package dir
