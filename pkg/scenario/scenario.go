package scenario

import (
	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// What every scenario begins with.
const (
	APIVersion = topology.APIVersion
	Kind       = "Scenario"
)

// Scenario is a scenario that was loaded. It is not changed by being run.
type Scenario struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   Metadata `json:"metadata"`
	// Reported are the places where people met what it is about: "cloud-provider-vsphere#642".
	Reported []string `json:"reported,omitempty"`
	// Expected says what must happen, for people.
	Expected string `json:"expected,omitempty"`
	// Fails are cloud controller managers that are known to fail it.
	Fails []KnownFailure `json:"fails,omitempty"`
	// Parameters are values that are chosen when the scenario is loaded, used as ${name} in any value.
	Parameters []topology.Parameter `json:"parameters,omitempty"`
	// Topology is what it runs on.
	Topology Topology `json:"topology"`
	// Components configures how the sandbox's parts start.
	Components Components `json:"components,omitzero"`
	Steps      []*Step    `json:"steps"`

	// File is where it was read from, Theme the folder of the catalogue that it is in; "" for others.
	File  string `json:"-"`
	Theme string `json:"-"`
	// Folder is the absolute path of the folder that it was read from, in which its commands run; "" for one that was not
	// read from a file of this machine.
	Folder string `json:"-"`
	// Values are the parameters with the values they have.
	Values map[string]string `json:"-"`

	source []byte     // as it was read
	root   *yaml.Node // parameters replaced, but for what only steps will know
}

// Metadata names a scenario.
type Metadata struct {
	// Name is a DNS label: lower-case letters, digits and hyphens.
	Name string `json:"name"`
	// Description is one line.
	Description string `json:"description,omitempty"`
	// Labels are for choosing: suite: core.
	Labels map[string]string `json:"labels,omitempty"`
}

// KnownFailure is a cloud controller manager that is known to fail a scenario.
type KnownFailure struct {
	CCM string `json:"ccm"`
	Why string `json:"why"`
}

// Topology is what a scenario runs on.
type Topology struct {
	// Use is the name of one of the catalogue, or a file: relative to the scenario's own.
	Use string
	// Settings are values of its parameters.
	Settings []topology.Setting
	// Resolved is the topology itself.
	Resolved *topology.Topology

	file topologyFile
}

// Components configures how the parts of a sandbox start.
type Components struct {
	// Speed is the factor by which the cluster lives faster than upstream's defaults. Default: the runner's.
	Speed float64 `json:"speed,omitempty"`
	CCM   CCM     `json:"ccm,omitzero"`
	// CSI is the CSI driver that runs: builtin, or off. Default: off, so that what is about nodes boots without one.
	CSI string `json:"csi,omitempty"`
}

// csi are the components that a CSI driver is made of.
func (c Components) csi() []string {
	if c.CSI != "builtin" {
		return nil
	}
	return []string{"csi-controller", "csi-provisioner", "csi-attacher", "csi-resizer", "csi-snapshotter", "snapshot-controller"}
}

// CCM configures how the cloud controller manager starts.
type CCM struct {
	// Source is where it comes from, as --ccm has it: builtin, module:v1.36.0. Default: the runner's. A path is relative to
	// the scenario's file, and absolute once that is loaded.
	Source string `json:"source,omitempty"`
	// Replicas is how many run; more than one elect a leader. Default: 1.
	Replicas int `json:"replicas,omitempty"`
	// Args are added to its flags, Env to its environment.
	Args []string          `json:"args,omitempty"`
	Env  map[string]string `json:"env,omitempty"`
}

// Action is what a step does.
type Action string

// The actions.
const (
	ActionInject Action = "inject"
	ActionHeal   Action = "heal"
	ActionWait   Action = "wait"
	ActionExpect Action = "expect"
	ActionNever  Action = "never"
	ActionRun    Action = "run"
	ActionSet    Action = "set"
	ActionNote   Action = "note"
)

// actions in the order in which a step's keys are looked for. A note may stand beside any other.
func actions() []Action {
	return []Action{ActionInject, ActionHeal, ActionWait, ActionExpect, ActionNever, ActionRun, ActionSet, ActionNote}
}

// Step is one step of a scenario.
type Step struct {
	Note string `json:"note,omitempty"`

	// Inject is the name of a fault, On what it happens to, With its parameters.
	Inject string            `json:"inject,omitempty"`
	On     *On               `json:"on,omitempty"`
	With   map[string]string `json:"with,omitempty"`
	// Mode is how many of what On chooses: one, all, a number, a percentage.
	Mode string `json:"mode,omitempty"`
	// Seed draws the targets. Default: one that follows from the scenario's seed and the step.
	Seed *uint64 `json:"seed,omitempty"`

	// Heal names steps that injected faults, or is all.
	Heal texts `json:"heal,omitempty"`

	Wait   *expect.Expectation `json:"wait,omitempty"`
	Expect *expect.Expectation `json:"expect,omitempty"`
	Never  *expect.Expectation `json:"never,omitempty"`

	// Run is a command: kubectl, govc or vsphere-sandbox with arguments. Stdin is what it reads.
	Run   []string `json:"run,omitempty"`
	Stdin string   `json:"stdin,omitempty"`
	// Exit is the exit status that it has to have. Stdout and Stderr are regular expressions that are found in what it
	// writes.
	Exit   int    `json:"exit,omitempty"`
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`

	// Set gives names to values of the world, for ${name} in later steps.
	Set map[string]Pick `json:"set,omitempty"`

	// As names the step, for heal, since, until and cause.
	As string `json:"as,omitempty"`
	// After is a pause before the step, At the time from the beginning of the scenario before which it does not begin.
	After Duration `json:"after,omitzero"`
	At    Duration `json:"at,omitzero"`
	// Within is how long an expectation may take to become true.
	Within *Duration `json:"within,omitempty"`
	// For is how long a fault lasts, an expectation has to stay true, or something must not happen.
	For Duration `json:"for,omitzero"`
	// Until is a later step by its name, or end: something must not happen until that step has begun.
	Until string `json:"until,omitempty"`

	// Action is which of the above it is, Line where it stands.
	Action Action `json:"-"`
	Line   int    `json:"-"`

	node  *yaml.Node
	path  string
	fault *fault.Kind
}

// Statement is what a wait, expect or never says; nil for other steps.
func (s *Step) Statement() *expect.Expectation {
	switch s.Action {
	case ActionWait:
		return s.Wait
	case ActionExpect:
		return s.Expect
	case ActionNever:
		return s.Never
	}
	return nil
}
