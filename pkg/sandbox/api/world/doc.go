// Package world holds the state of a sandbox, folded from its stream of updates:
// rows of nodes, VMs, hosts, vCenters, components, leases, volumes and attachments, and its events.
//
// The reader of the stream feeds a [World]; expectations and screens read it. It holds rows as package api has
// them; [Row] reads any field of one by the name that it has in JSON, which is the name that people write in scenarios.
//
// Floor 3.
package world
