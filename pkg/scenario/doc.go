// Package scenario is data that breaks a sandbox and judges what happens: a topology, steps that inject faults, heal them
// and run commands, and expectations of the world in between. docs/scenarios.md teaches the language by example.
//
// [Load] reads a file strictly: it reports all errors at once, each with its line. It checks what can be known without a
// sandbox: faults and their parameters, names of nodes and VMs against the topology, durations that make no sense. [Run] runs a
// scenario on a running sandbox, through its API, and returns the result; it heals the faults that it injected in any case.
// [Group] orders scenarios so that few sandboxes have to be started, and [RunAll] runs them. Package record makes a scenario
// from the actions of a user.
//
// Expectations are evaluated again at each change of the sandbox, so that no state in between is missed: see packages world and
// expect.
//
// Floor 4. It knows the sandbox by its API only, and neither flags nor terminals.
package scenario
