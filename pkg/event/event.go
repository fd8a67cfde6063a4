package event

import "time"

// Plane is the part of the system on which an event was seen, and the lane of a timeline.
type Plane string

// The planes.
const (
	PlaneSandbox    Plane = "sandbox"    // the sandbox itself: boot, children, gates, commands
	PlaneVSphere    Plane = "vsphere"    // what a vCenter's inventory did
	PlaneKubernetes Plane = "kubernetes" // what the API server's objects did
)

// Level is the severity of an event.
type Level string

// The levels, from quiet to loud.
const (
	Info    Level = "info"
	Warning Level = "warning"
	Error   Level = "error"
)

// Object identifies the subject of an event. The zero value is the whole sandbox.
type Object struct {
	// Kind is the usual term for it: VM, Node, VCenter, Component, Secret.
	Kind string `json:"kind,omitempty"`
	// VCenter scopes vSphere objects: vCenters may use the same names and references.
	VCenter string `json:"vcenter,omitempty"`
	Name    string `json:"name,omitempty"`
}

// Event is an event, as a value: a reader may keep and change its copy.
type Event struct {
	// Seq orders the log: 1 for the first event, then without gaps. [Log.Append] sets it.
	Seq uint64 `json:"seq"`
	// Time is set by [Log.Append] when zero.
	Time  time.Time `json:"time"`
	Plane Plane     `json:"plane"`
	Level Level     `json:"level"`
	// Kind is dotted lower case, noun first: vm.powered-off, node.not-ready, child.exited.
	Kind    string `json:"kind"`
	Object  Object `json:"object,omitzero"`
	Message string `json:"message"`
	// Cause is the Seq of the event that caused this one; 0 if unknown.
	Cause uint64 `json:"cause,omitempty"`
}
