// Package nodetopology is how a node learns its topology: CSINodeTopology objects (cns.vmware.com/v1alpha1) of upstream's
// driver, of which this package has the definition ([CRD]), the node's side ([Request]) and the controller that answers
// ([Controller]).
//
// A node's driver creates the object that is named as its node, with the BIOS UUID of its VM, and waits for an answer; the
// controller finds the VM and writes the tags above it as topology labels. Differently from upstream, the answer is
// kept up to date: when the VM moves to another zone or a tag changes, so do the object and the labels of the Node, whose
// values the kubelet does not change and refuses a registration over (topology value collision).
//
//	go nodetopology.New(nodetopology.Config{Dynamic: dyn, Client: client, Topology: nodes, Labels: informer}).Run(ctx)
//	segment, err := nodetopology.Request(ctx, dyn, "worker-1", uuid, node)
//
// Either side works with upstream's other one.
//
// Floor 1: it imports nothing of this module but its siblings names and volume.
package nodetopology
