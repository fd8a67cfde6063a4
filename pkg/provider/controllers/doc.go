// Package controllers runs the stock node and node lifecycle controllers of k8s.io/cloud-provider so that they react to
// what a watch sees, and adds one that keeps the zone labels of nodes true.
//
// # The trick
//
// Both stock controllers are loops that list all nodes from a NodeInformer's lister and then sleep for a period. Here
// they sleep for no time at all, and the lister that they are given does the waiting: its List returns when the period
// is over, with all nodes, or at once after a nudge, with those that the nudge is about. What is done about a node, and
// in which order, is the stock controllers' own code, untouched, in their own goroutines. A node is with one of them at
// a time.
//
//   - cloud-node, its loop over addresses: a change of a VM's adapters reaches the Node at once, and touches no other.
//   - cloud-node, its queue of nodes to be initialized: the informer that it is given remembers the event handler that
//     it adds. A nudge about a node that still has the uninitialized taint is told to that handler as an update, and so
//     goes into the queue past the back-off, which after repeated failures lasts up to 1,000 s.
//   - cloud-node-lifecycle: the shutdown taint and the deletion follow at once, and so they do when a node's Ready
//     condition turns. Several of these controllers share the nodes among them, so that one that waits for a vCenter
//     does not keep the others from nodes that live elsewhere.
//
// What the cloud cannot answer about an initialized node is kept from them: they would do nothing about it, as they do
// now, and write a line about each node in each turn. Telling it, once, is the provider's business.
//
// Who knows of a change calls [Nudges]; [Initializers] makes the functions that k8s.io/cloud-provider/app starts.
//
// # Its limits
//
//   - It relies on two things in v0.36: that each loop lists once per turn, from one goroutine, and that cloud-node
//     enqueues what an update event names. The tests run the real controllers and would tell.
//   - A nudge about a VM that no node is bound to may be about a node that is not initialized and cannot be told by its
//     system UUID either. All of these are then tried again, at once or 10 s after the last time.
//   - The line "Update %d nodes status took" (verbosity 2) counts the nodes of one turn, not of the cluster.
//   - The period begins anew when a round over all nodes has ended, as it does upstream.
//
// Nothing here knows of vSphere but for the two byte orders of a UUID. It writes nothing to a vCenter, decides nothing
// about a node's existence, and makes no mistake rarer: it only makes the stock answer come sooner.
//
// Floor 1: beside pkg/provider, which it does not import.
package controllers
