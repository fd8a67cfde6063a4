// Package record makes a scenario of what a person did to a sandbox by hand, with the command line or any other client:
// faults that were injected and healed, commands on VMs, changes of gates, with the pauses in between, and expectations
// drafted from what nodes did then. What it writes is a file that loads: a draft to be looked through.
//
// Floor 4.
package record
