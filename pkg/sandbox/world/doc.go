// Package world is the sandbox's view of both planes: the inventories and tags of the vCenters and the Nodes of the API server, each
// as its watch reported it last, joined by BIOS UUID as the cloud controller manager joins them. Status, listings and waits read
// it. Nothing in it comes from the topology.
//
// Floor 3, below pkg/sandbox.
package world
