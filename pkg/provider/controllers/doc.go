// Package controllers runs the stock node and node lifecycle controllers of k8s.io/cloud-provider so that they react to a
// watch, and adds a controller that updates the zone labels of nodes.
//
// # How it works
//
// Both stock controllers are loops that list all nodes from a NodeInformer's lister and then sleep for a period. Here
// the period is zero, and their lister waits instead: List returns all nodes after the period, or only the affected nodes
// immediately after a change. What happens to a node, and in which order, is the unmodified code of the stock controllers,
// in their own goroutines. Only one of them has a node at a time.
//
//   - cloud-node, address loop: a change of a VM's adapters updates its Node at once, and no other Node.
//   - cloud-node, queue of uninitialized nodes: the controller's informer keeps the event handler that the controller adds.
//     After a change, that handler gets an update event for each affected node that still has the uninitialized taint. So the
//     node enters the queue without the back-off, which after repeated failures lasts up to 1,000 s.
//   - cloud-node-lifecycle: the shutdown taint and the deletion follow at once, also when a node's Ready condition changes.
//     Several instances of this controller share the nodes, so that one that waits for a vCenter does not delay nodes in
//     other vCenters.
//
// The controllers do not get errors about initialized nodes: they would do nothing but log a line for each node in each
// turn. The provider reports these errors once.
//
// The source of changes calls [Resyncer]; [Initializers] returns the functions that k8s.io/cloud-provider/app starts.
//
// # Limits
//
//   - It relies on two properties of v0.36: each loop lists once per turn, from one goroutine, and cloud-node enqueues the
//     node of an update event. The tests run the real controllers and would fail otherwise.
//   - A change of a VM without a bound node may concern any uninitialized node without a matching system UUID. All of these
//     are then retried, at once or 10 s after the last time.
//   - The line "Update %d nodes status took" (verbosity 2) counts the nodes of one turn, not of the cluster.
//   - The period starts again when a round over all nodes has ended, as upstream.
//
// Of vSphere, the package depends only on the two byte orders of a UUID. It makes no calls to a vCenter and does not decide
// whether a node exists; it only makes the stock controllers decide sooner.
//
// Floor 1: beside pkg/provider, which it does not import.
package controllers
