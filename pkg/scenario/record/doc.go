// Package record makes a scenario from the actions of a user on a sandbox, with any client: injected and healed faults, commands
// on VMs, changes of gates, the pauses in between, and expectations from the reactions of nodes. The result is a draft that
// loads, to be edited.
//
// Floor 4.
package record
