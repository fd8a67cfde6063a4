// Package faults has the parts of the terminal UI that break and heal: the [Screen] with the active faults and the catalogue, the
// [Menu] of faults for the selection, the [Form] for targets and parameters, and the power menu of a VM.
//
// It injects and heals nothing: keys become intents, and each shows its command line.
//
//	m := faults.NewMenu(kinds, api.Subject{Kind: "node", Name: "worker-1"}, state)
//	f := faults.NewForm(kind, api.Subject{Kind: "vm", VCenter: "us", Name: "worker-1"}, state)
//	p := faults.NewPower(api.Subject{Kind: "vm", VCenter: "us", Name: "worker-1"}, vm)
//
// A form refuses only what contradicts the catalogue. The sandbox decides whether a fault is possible, in its answer to a plan.
//
// Floor 4, in the tree of pkg/tui.
package faults
