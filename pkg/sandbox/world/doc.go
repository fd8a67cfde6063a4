// Package world is the sandbox's view of both planes: every vCenter's inventory and tags, and the API
// server's nodes, each as its watch last reported it, and the two joined by BIOS UUID as the cloud controller manager
// joins them. Status, listings and waits read it; nothing in it is derived from the topology.
//
// Floor 3, below pkg/sandbox.
package world
