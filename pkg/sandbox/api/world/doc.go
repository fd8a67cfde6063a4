// Package world is the state of a sandbox, folded from the stream of updates in which it reports all changes: rows of nodes, VMs,
// hosts, vCenters, components, leases, volumes and attachments, and its events.
//
// A reader of the stream updates a [World]; expectations and screens query it. It holds rows as package api has
// them; [Row] reads any field of one by the name that it has in JSON, which is the name that people write in scenarios.
//
// Floor 3.
package world
