// Package inventory is an index over the virtual machines of one or more vCenters, kept current by a property watch
// per vCenter and by a slow reading of the tags of two categories.
//
// Lookups are map reads: by BIOS UUID in either byte order, by guest hostname, by guest IP. They answer from those
// vCenters that are in sync and name the others as a [Result]'s doubt, so that a dead vCenter never holds up a question
// that a live one can answer, and never turns into "does not exist" either. That answer is given by
// [Inventory.ConfirmAbsent] alone, which asks every vCenter directly.
//
//	inv, err := inventory.New(inventory.Config{VCenters: []inventory.VCenterConfig{{Client: client}}})
//	go inv.Run(ctx)
//	if err := inv.WaitSynced(ctx); err == nil {
//		result := inv.ByUUID(id)
//	}
//
// It knows nothing of Kubernetes: what a node is, and what follows from a missing VM, is decided by its user.
//
// Floor 1: it imports nothing of this module but its sibling vcenter.
package inventory
