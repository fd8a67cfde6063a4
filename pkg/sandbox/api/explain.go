package api

import (
	"context"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// Subject names a thing that can be looked into or explained.
type Subject struct {
	// Kind is node, vm or volume; [Client.Inspect] knows more: host, vcenter, component.
	Kind string `json:"kind"`
	// VCenter tells things of vSphere apart that have one name; "" where the name is enough.
	VCenter string `json:"vcenter,omitempty"`
	// Name is as in the row of its kind; of a volume, its claim, its PersistentVolume or its id in CNS.
	Name string `json:"name"`
}

// Explanation tells how something has come to be as it is.
type Explanation struct {
	Subject
	// Summary is the whole in a sentence: "not ready, because its VM is off".
	Summary string `json:"summary"`
	// Questions are what a person would ask of it as it is now, the most urgent first.
	Questions []Question `json:"questions"`
	// Events are those about it, and what they come from, oldest first.
	Events []event.Event `json:"events"`
	// Volume is set when it is one.
	Volume *Volume `json:"volume,omitempty"`
}

// Question is something about a subject that wants a reason: a label that is missing, a taint, a node that was deleted,
// a volume that is stuck. One that is as it should be is told, too, with what makes it so.
type Question struct {
	// Ask is the question: "Why has it no zone?".
	Ask string `json:"ask"`
	// Answer is the reason in a sentence.
	Answer string `json:"answer"`
	// Level is info for what is as it should be, warning for what a person may want to change, error for what is broken.
	Level event.Level `json:"level"`
	// Evidence is what the answer rests on, in the order of the walk.
	Evidence []Evidence `json:"evidence"`
	// Try is a command line, or words, that change it.
	Try string `json:"try,omitempty"`
}

// Evidence is one thing that was looked at.
type Evidence struct {
	// What was looked at: "host /dc/host/c/esx-1", "tag category k8s-zone", "CCM's calls".
	What string `json:"what"`
	// Found is what was there.
	Found string `json:"found"`
	// Verdict is ok, missing, wrong or unknown (it could not be asked), or "" for what is neither.
	Verdict string `json:"verdict,omitempty"`
	// Source is who was asked: "vCenter us", "API server", "cloud-config", "event log", "log of ccm".
	Source string `json:"source,omitempty"`
	// Event is the Seq of the event that it rests on, if it is one.
	Event uint64 `json:"event,omitempty"`
}

// Explain tells how a node, a VM or a volume has come to be as it is.
func (c *Client) Explain(ctx context.Context, s Subject) (Explanation, error) {
	return post[Explanation](ctx, c, "explain", s)
}

// Inspection is everything there is to be seen of a subject on each plane.
type Inspection struct {
	Parts []Part `json:"parts"`
}

// Part is one object of an [Inspection], as its own API has it.
type Part struct {
	// Title says what it is: "Node worker-1", "VM worker-1 of vCenter us".
	Title string `json:"title"`
	// YAML is the object, without managed fields and secrets.
	YAML string `json:"yaml,omitempty"`
	// Error is why it could not be read.
	Error string `json:"error,omitempty"`
}

// Inspect reads a subject on both planes: the Kubernetes object and the properties of what is behind it.
func (c *Client) Inspect(ctx context.Context, s Subject) (Inspection, error) {
	return post[Inspection](ctx, c, "inspect", s)
}
