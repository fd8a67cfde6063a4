// Package world is the sandbox's picture of both planes: what every vCenter's inventory and tags say, and what the API
// server's nodes say, each as its watch last told it, and the two joined by BIOS UUID as the cloud controller manager
// joins them. Status, listings and waits are read from it; nothing in it is made up or remembered from the topology.
//
// Floor 3, below pkg/sandbox.
package world
