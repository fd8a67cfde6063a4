// Package event records what happens in a sandbox: one ordered [Log] to which every plane (vSphere, Kubernetes, the sandbox)
// appends, and from which every reader (the event file, the control API, the terminal UI, scenario expectations) reads at its own
// position.
//
//	log := event.NewLog(0)
//	seq := log.Append(event.Event{Kind: "vm.powered-off", Message: "worker-1"})
//	events, lost, err := log.Wait(ctx, seq, 100)
//
// Readers never block writers. A reader that falls behind the log's capacity gets the number of events that it lost.
//
// Floor 0: it imports nothing of this module.
package event
