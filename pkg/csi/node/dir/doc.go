// Package dir is the node service's backend for nodes without devices: a volume is a directory (package disk) below one
// root, made when it is first staged, and published by a bind mount where the service is root, by a link otherwise. When the
// root is shared by all nodes, the content follows the volume from node to node.
//
// Nothing deletes a volume's directory: no call tells a node that a volume is gone.
//
// Floor 1.
package dir
