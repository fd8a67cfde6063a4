package api

import (
	"context"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret/mask"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// Subject names a thing that can be looked into or explained.
type Subject struct {
	// Kind is node, vm, volume or service; [Client.Inspect] has no service, but knows more: host, vcenter, component.
	Kind string `json:"kind"`
	// VCenter distinguishes objects of vSphere that have the same name; "" if the name is enough.
	VCenter string `json:"vcenter,omitempty"`
	// Name is as in the row of its kind; of a volume, its claim, its PersistentVolume or its id in CNS.
	Name string `json:"name"`
}

// Explanation explains the state of a subject.
type Explanation struct {
	Subject
	// Summary is the whole in a sentence: "not ready, because its VM is off".
	Summary string `json:"summary"`
	// Questions are what a user would ask about its state, the most urgent first.
	Questions []Question `json:"questions"`
	// Events are the events about it and their causes, oldest first.
	Events []event.Event `json:"events"`
	// Volume is set for a volume.
	Volume *Volume `json:"volume,omitempty"`
}

// Question is something about a subject that wants a reason: a label that is missing, a taint, a node that was deleted,
// a volume that is stuck. A subject in its desired state has questions, too, with the reasons.
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

// Explain explains the state of a Node, a VM or a volume.
func (c *Client) Explain(ctx context.Context, s Subject) (Explanation, error) {
	return post[Explanation](ctx, c, "explain", s)
}

// Inspection is all that can be read of a subject on each plane.
type Inspection struct {
	Parts []Part `json:"parts"`
}

// Part is one object of an [Inspection], as its own API has it.
type Part struct {
	// Title names the object: "Node worker-1", "VM worker-1 of vCenter us".
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

// Mask adds every secret of the sandbox with the directory dir to m, and those that the sandbox learns later. Call it before an
// export of what a sandbox reports, and export nothing if it fails.
func (c *Client) Mask(ctx context.Context, m *mask.Mask, dir string) error {
	if err := m.Follow(dir); err != nil {
		return err
	}
	secrets, err := c.Secrets(ctx)
	m.Add(secrets...)
	return err
}

// FaultKind is something that can be broken.
type FaultKind struct {
	// Name is dotted lower case, the object first: vm.power-off.
	Name  string `json:"name"`
	Theme string `json:"theme"`
	// Short says in one line what happens, Long what else a user wants to know.
	Short string `json:"short"`
	Long  string `json:"long,omitempty"`
	// Object is what it happens to: vm, host, vcenter, node, component.
	Object string       `json:"object"`
	Params []FaultParam `json:"params,omitempty"`
	// Needs is what a ground must have for it.
	Needs []string `json:"needs,omitempty"`
	// Unsupported says why it cannot be injected on the ground of this sandbox; "" for one that can.
	Unsupported string `json:"unsupported,omitempty"`
	// Momentary: it is over when it is injected, and not healed.
	Momentary bool     `json:"momentary,omitempty"`
	Reported  []string `json:"reported,omitempty"`
}

// FaultParam is something that can be said of a fault.
type FaultParam struct {
	Name     string `json:"name"`
	Short    string `json:"short"`
	Type     string `json:"type,omitempty"`
	Default  string `json:"default,omitempty"`
	Required bool   `json:"required,omitempty"`
	// Choices are all values that there are, if these are few.
	Choices []string `json:"choices,omitempty"`
}

// FaultKinds lists what can be broken, by theme.
func (c *Client) FaultKinds(ctx context.Context) ([]FaultKind, error) {
	return get[[]FaultKind](ctx, c, "fault-kinds")
}

// Run is a scenario that runs on a sandbox, or ran there, as its runner reports it.
type Run struct {
	// Name is the scenario's.
	Name        string `json:"name"`
	File        string `json:"file,omitempty"`
	Description string `json:"description,omitempty"`
	// State is running, passed, failed, error or skipped.
	State string `json:"state"`
	// Message says in one line why it did not pass.
	Message string     `json:"message,omitempty"`
	Began   time.Time  `json:"began"`
	Ended   *time.Time `json:"ended,omitempty"`
	// Number is which of Of scenarios it is that run on this sandbox.
	Number int       `json:"number,omitempty"`
	Of     int       `json:"of,omitempty"`
	Steps  []RunStep `json:"steps,omitempty"`
}

// RunStep is a step of a [Run].
type RunStep struct {
	// Text says what it does: "expect node worker-1: ready is Unknown".
	Text string `json:"text"`
	// State is pending, running, passed, failed, error or skipped.
	State string `json:"state"`
	// Message says what it waits for, or why it did not pass.
	Message string     `json:"message,omitempty"`
	Began   *time.Time `json:"began,omitempty"`
	Took    Duration   `json:"took,omitzero"`
	// Event is the Seq of the event that decided it, 0 for none.
	Event uint64 `json:"event,omitempty"`
}

// Publish has the sandbox tell all who watch it how a scenario runs. The newest of a sandbox takes the place of the one
// before.
func (c *Client) Publish(ctx context.Context, r Run) error {
	_, err := post[struct{}](ctx, c, "run", r)
	return err
}
