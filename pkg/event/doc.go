// Package event is the sandbox's memory of what happened: one ordered [Log] to which every plane (vSphere, Kubernetes,
// the sandbox) appends and from which every reader (the event file, the control API, status, later the terminal UI and
// scenario expectations) reads with a position of its own.
//
// Writers never block on readers. A reader that falls behind further than the log remembers is told how many events it
// lost, rather than silently skipping them.
//
// Floor 0: it imports nothing of this module.
package event
