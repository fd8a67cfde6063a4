// Package scenario is data that breaks a sandbox and judges what happens: a topology, steps that inject faults, heal them
// and run commands, and expectations of the world in between. docs/scenarios.md teaches the language by example.
//
// [Load] reads a file strictly: everything that is wrong is reported at once with its line, and whatever can be known
// without a sandbox is: faults and their parameters, names of nodes and VMs against the topology, durations that make no
// sense. [Run] carries a scenario out on a sandbox that is up, through its API, and returns what came of it; faults that it
// injected are healed in any case. [Group] puts scenarios in an order in which few sandboxes have to be started, and
// [RunAll] goes through it. Package record makes a scenario of what a person did by hand.
//
// Expectations are asked again at each change that the sandbox tells, so that nothing in between is missed: see packages
// world and expect.
//
// Floor 4. It knows the sandbox by its API only, and neither flags nor terminals.
package scenario
