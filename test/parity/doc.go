// Package parity runs this module's cloud controller manager and releases of upstream's side by side, each on a fresh
// simulation of the same topology, and compares what becomes of the nodes and what it costs: labels, addresses,
// providerIDs and taints, vCenter calls by method and phase, time, memory. It prints one table; a difference that
// docs/provider.md does not explain fails it.
//
//	make parity
//
// Nodes are Node objects with heartbeats, bound to VMs: the cloud provider sees no difference to kubelets.
package parity
