// Package faults is where things are broken and put right again in the terminal UI: the [Screen] with the faults that are
// in force and the catalogue of all that there are, the [Menu] of what can happen to what is selected, the [Form] that
// asks for targets and parameters, and the menu of what can be done to a VM.
//
// It injects and heals nothing: keys become intents, and each shows the command line that does the same.
//
//	m := faults.NewMenu(kinds, api.Subject{Kind: "node", Name: "worker-1"}, state)
//	f := faults.NewForm(kind, api.Subject{Kind: "vm", VCenter: "us", Name: "worker-1"}, state)
//	p := faults.NewPower(api.Subject{Kind: "vm", VCenter: "us", Name: "worker-1"}, vm)
//
// A form refuses only what contradicts the catalogue. The sandbox decides whether a fault is possible, in its answer to a plan.
//
// Floor 4, in the tree of pkg/tui.
package faults
