// Package nodetopology gives nodes their topology, with the CSINodeTopology objects (cns.vmware.com/v1alpha1) of upstream's
// driver. It has the definition ([CRD]), the node's side ([Request]) and the controller ([Controller]).
//
// The driver on a node creates an object with the node's name and the BIOS UUID of its VM, and waits for an answer. The
// controller finds the VM and writes the tags above it as topology labels. Unlike upstream, it keeps the answer up to date: when
// the VM moves to another zone or a tag changes, it updates the object and the labels of the Node. The kubelet never changes
// these labels, and refuses to register with other values (topology value collision).
//
//	go nodetopology.New(nodetopology.Config{Dynamic: dyn, Client: client, Topology: nodes, Labels: informer}).Run(ctx)
//	segment, err := nodetopology.Request(ctx, dyn, "worker-1", uuid, node)
//
// Either side works with upstream's other side.
//
// Floor 1: it imports nothing of this module but its siblings names and volume.
package nodetopology
