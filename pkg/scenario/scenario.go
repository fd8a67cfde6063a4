package scenario

import (
	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// The header of every scenario.
const (
	APIVersion = topology.APIVersion
	Kind       = "Scenario"
)

// Scenario is a loaded scenario. Running does not change it.
type Scenario struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   Metadata `json:"metadata"`
	// Reported are the reports of the problem: "cloud-provider-vsphere#642".
	Reported []string `json:"reported,omitempty"`
	// Expected describes what must happen, for people.
	Expected string `json:"expected,omitempty"`
	// Fails are cloud controller managers that are known to fail it.
	Fails []KnownFailure `json:"fails,omitempty"`
	// Parameters have values that are chosen at load time, used as ${name} in any value.
	Parameters []topology.Parameter `json:"parameters,omitempty"`
	// Topology is what it runs on.
	Topology Topology `json:"topology"`
	// Components configures how the sandbox's parts start.
	Components Components `json:"components,omitzero"`
	Steps      []*Step    `json:"steps"`

	// File is the path of its file, Theme its folder in the catalogue; "" for others.
	File  string `json:"-"`
	Theme string `json:"-"`
	// Folder is the absolute path of its folder, in which its commands run; "" if it was not read from a file of the host.
	Folder string `json:"-"`
	// Values are the parameters with their values.
	Values map[string]string `json:"-"`

	source []byte     // the original text
	root   *yaml.Node // with parameters replaced, except those of set steps
}

// Metadata names a scenario.
type Metadata struct {
	// Name is a DNS label: lower-case letters, digits and hyphens.
	Name string `json:"name"`
	// Description is one line.
	Description string `json:"description,omitempty"`
	// Labels select scenarios: suite: core.
	Labels map[string]string `json:"labels,omitempty"`
}

// KnownFailure is a cloud controller manager that is known to fail a scenario.
type KnownFailure struct {
	CCM string `json:"ccm"`
	Why string `json:"why"`
}

// Topology is the topology of a scenario.
type Topology struct {
	// Use is a name in the catalogue, or a file relative to the scenario's own.
	Use string
	// Settings are values of its parameters.
	Settings []topology.Setting
	// Resolved is the loaded topology.
	Resolved *topology.Topology

	file topologyFile
}

// Components configures how the parts of a sandbox start.
type Components struct {
	// Speed is the factor by which the cluster is faster than upstream's defaults. Default: the runner's.
	Speed float64 `json:"speed,omitempty"`
	CCM   CCM     `json:"ccm,omitzero"`
	// CSI is the CSI driver: builtin, or off. Default: off, so that scenarios about nodes boot without one.
	CSI string `json:"csi,omitempty"`
}

// csi are the components of a CSI driver.
func (c Components) csi() []string {
	if c.CSI != "builtin" {
		return nil
	}
	return []string{"csi-controller", "csi-provisioner", "csi-attacher", "csi-resizer", "csi-snapshotter", "snapshot-controller"}
}

// CCM configures how the cloud controller manager starts.
type CCM struct {
	// Source is the origin of the program, as in --ccm: builtin, module:v1.36.0. Default: the runner's. A path is relative to the
	// scenario's file, and absolute after loading.
	Source string `json:"source,omitempty"`
	// Replicas is the number of instances; several elect a leader. Default: 1.
	Replicas int `json:"replicas,omitempty"`
	// Args are added to its flags, Env to its environment.
	Args []string          `json:"args,omitempty"`
	Env  map[string]string `json:"env,omitempty"`
}

// Action is the action of a step.
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

// actions are in the order in which a step's keys are checked. Any other action may have a note.
func actions() []Action {
	return []Action{ActionInject, ActionHeal, ActionWait, ActionExpect, ActionNever, ActionRun, ActionSet, ActionNote}
}

// Step is one step of a scenario.
type Step struct {
	Note string `json:"note,omitempty"`

	// Inject is the name of a fault, On its targets, With its parameters.
	Inject string            `json:"inject,omitempty"`
	On     *On               `json:"on,omitempty"`
	With   map[string]string `json:"with,omitempty"`
	// Mode is how many of the targets: one, all, a number, a percentage.
	Mode string `json:"mode,omitempty"`
	// Seed chooses the targets. Default: derived from the scenario's seed and the step.
	Seed *uint64 `json:"seed,omitempty"`

	// Heal names steps that injected faults, or is all.
	Heal texts `json:"heal,omitempty"`

	Wait   *expect.Expectation `json:"wait,omitempty"`
	Expect *expect.Expectation `json:"expect,omitempty"`
	Never  *expect.Expectation `json:"never,omitempty"`

	// Run is a command: kubectl, govc or vsphere-sandbox with arguments. Stdin is its input.
	Run   []string `json:"run,omitempty"`
	Stdin string   `json:"stdin,omitempty"`
	// Exit is the required exit status. Stdout and Stderr are regular expressions that must match its output.
	Exit   int    `json:"exit,omitempty"`
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`

	// Set names values of the world, for ${name} in later steps.
	Set map[string]Pick `json:"set,omitempty"`

	// As names the step, for heal, since, until and cause.
	As string `json:"as,omitempty"`
	// After is a pause before the step; At is the earliest time of the step, from the beginning of the scenario.
	After Duration `json:"after,omitzero"`
	At    Duration `json:"at,omitzero"`
	// Within is the time limit of an expectation.
	Within *Duration `json:"within,omitempty"`
	// For is how long a fault lasts, an expectation must stay true, or something must not happen.
	For Duration `json:"for,omitzero"`
	// Until is a later step, or end: something must not happen before that step begins.
	Until string `json:"until,omitempty"`

	// Action is the key above that is set, Line the line of the step.
	Action Action `json:"-"`
	Line   int    `json:"-"`

	node  *yaml.Node
	path  string
	fault *fault.Kind
}

// Statement returns the statement of a wait, expect or never; nil for other steps.
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
