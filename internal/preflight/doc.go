// Package preflight compares what a sandbox takes of the limits of a machine with what the machine has left, before anything
// boots: open files, processes, inotify, memory, disk, the loopback interface, ports.
//
//	need := preflight.NeedOf(preflight.Size{Cluster: true, Nodes: 6, VMs: 6, CSI: true, CCMs: 1}, runtime.GOMAXPROCS(0))
//	for _, f := range preflight.Check(ctx, preflight.Here(), need) { … }
//
// A limit that cannot be read, as on a system without /proc, is not checked: nothing is guessed. "up" refuses to boot for
// what fails, and "doctor" prints the same findings.
//
// Floor 0.
package preflight
