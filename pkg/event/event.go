package event

import "time"

// Plane is the part of the system an event was seen on; it decides the lane a timeline draws it in.
type Plane string

// The planes.
const (
	PlaneSandbox    Plane = "sandbox"    // the sandbox itself: boot, children, gates, commands
	PlaneVSphere    Plane = "vsphere"    // what a vCenter's inventory did
	PlaneKubernetes Plane = "kubernetes" // what the API server's objects did
)

// Level reports how loud an event is.
type Level string

// The levels, from quiet to loud.
const (
	Info    Level = "info"
	Warning Level = "warning"
	Error   Level = "error"
)

// Object names what an event is about. The zero value means "the sandbox as a whole".
type Object struct {
	// Kind is the field's name for it: VM, Node, VCenter, Component, Secret.
	Kind string `json:"kind,omitempty"`
	// VCenter scopes vSphere objects, whose names and morefs repeat between vCenters.
	VCenter string `json:"vcenter,omitempty"`
	Name    string `json:"name,omitempty"`
}

// Event is one thing that happened. Events are values: a reader may keep and change its copy.
type Event struct {
	// Seq orders the log: 1 for the first event, then without gaps. Set by [Log.Append].
	Seq uint64 `json:"seq"`
	// Time is set by [Log.Append] when zero.
	Time  time.Time `json:"time"`
	Plane Plane     `json:"plane"`
	Level Level     `json:"level"`
	// Kind is dotted lower case, noun first: vm.powered-off, node.not-ready, child.exited.
	Kind    string `json:"kind"`
	Object  Object `json:"object,omitzero"`
	Message string `json:"message"`
	// Cause is the Seq of the event that made this one happen; 0 when that is not known.
	Cause uint64 `json:"cause,omitempty"`
}
