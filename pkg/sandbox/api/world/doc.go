// Package world is what a sandbox looks like, folded from the stream of updates in which it tells everything that
// changes: rows of nodes, VMs, hosts, vCenters, components, leases, volumes and attachments, and its events.
//
// A [World] is fed by whoever reads the stream and asked by expectations and screens. It holds rows as package api has
// them; [Row] reads any field of one by the name that it has in JSON, which is the name that people write in scenarios.
//
// Floor 3.
package world
