package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/verdict"
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
	// Fails are cloud controller managers and CSI drivers that are known to fail it.
	Fails []verdict.Known `json:"fails,omitempty"`
	// Must means that a release may not fail it, even if the release before did.
	Must bool `json:"must,omitempty"`
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
	// Kubernetes is the release of an embedded cluster: v1.36. Default: the runner's.
	Kubernetes string `json:"kubernetes,omitempty"`
	// CSI is the CSI driver: builtin, or off. Default: off, so that scenarios about nodes boot without one.
	CSI string `json:"csi,omitempty"`
	// CSIReplicas is the number of the driver's controllers; several elect leaders. Default: 1.
	CSIReplicas int `json:"csiReplicas,omitempty"`
	// LoadBalancer is what serves Services of type LoadBalancer: simple, nsx or none, as up --loadbalancer has it. Default: none.
	LoadBalancer string `json:"loadbalancer,omitempty"`
}

// csi are the components of a CSI driver.
func (c Components) csi() []string {
	if c.CSI != "builtin" {
		return nil
	}
	var all []string
	for _, name := range []string{"csi-controller", "csi-provisioner", "csi-attacher", "csi-resizer", "csi-snapshotter", "snapshot-controller"} {
		all = append(all, name)
		for n := 2; n <= c.CSIReplicas; n++ {
			all = append(all, name+"-"+strconv.Itoa(n))
		}
	}
	return all
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

// Text says in one line what a step does, without the name of its action.
func (s *Step) Text() string { return s.textWith(1) }

// textWith is Text for a run that multiplies time limits with patience: it has the effective limit.
func (s *Step) textWith(patience float64) string {
	text := s.text(patience)
	if s.As != "" {
		text += ", as " + s.As
	}
	if s.Action != ActionNote && s.Note != "" {
		text = s.Note + ": " + text
	}
	return strings.Join(strings.Fields(text), " ")
}

func (s *Step) text(patience float64) string {
	switch s.Action {
	case ActionInject:
		text := s.Inject
		if on := s.On.String(); on != "" {
			text += " on " + on
		}
		if len(s.With) > 0 {
			var parts []string
			for _, name := range slices.Sorted(maps.Keys(s.With)) {
				parts = append(parts, name+"="+s.With[name])
			}
			text += " with " + strings.Join(parts, ", ")
		}
		if s.Mode != "" {
			text += ", mode " + s.Mode
		}
		if !s.For.IsZero() {
			text += " for " + s.For.String()
		}
		return text
	case ActionHeal:
		return strings.Join(s.Heal, ", ")
	case ActionWait, ActionExpect:
		text := s.Statement().String()
		if !s.For.IsZero() {
			text += " for " + s.For.String()
		}
		within := s.within()
		if patience > 0 && patience != 1 {
			within.D = time.Duration(float64(within.D) * patience).Round(time.Millisecond)
		}
		return text + " within " + within.String()
	case ActionNever:
		if s.Until != "" {
			return s.Never.String() + " until " + s.Until
		}
		return s.Never.String() + " for " + s.For.String()
	case ActionRun:
		return strings.Join(s.Run, " ")
	case ActionSet:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(s.Set)) {
			p := s.Set[name]
			field := p.Field
			if p.Key != "" {
				field += "." + p.Key
			}
			parts = append(parts, fmt.Sprintf("%s = %s of %s %s", name, field, p.Kind, p.Name))
		}
		return strings.Join(parts, ", ")
	}
	return s.Note
}

// texts is one text or several.
type texts []string

// DecodeYAML reads either.
func (t *texts) DecodeYAML(r *strict.Reader, node *yaml.Node, path string) { *t = r.Texts(node, path) }

// On chooses the targets of a fault. The key with the fault's kind of target names them; the others restrict where they are.
type On struct {
	entries []onEntry
}

type onEntry struct {
	key   string
	texts []string
	node  *yaml.Node
	path  string
}

// onKeys lists the keys, beginning with those that are always names.
func onKeys() []string {
	return []string{
		"names", "vm", "node", "component", "volume", "datastore", "vcenter", "datacenter", "cluster", "host", "region", "zone", "role", "labels",
	}
}

// DecodeYAML reads a mapping, or one name or a list of names.
func (o *On) DecodeYAML(r *strict.Reader, node *yaml.Node, path string) {
	if node.Kind != yaml.MappingNode {
		o.entries = []onEntry{{"names", r.Texts(node, path), node, path}}
		return
	}
	r.Keys(node, path, func(key, value *yaml.Node, below string) {
		if !slices.Contains(onKeys(), key.Value) {
			r.Unknown(key, below, "kind of target", key.Value, onKeys())
			return
		}
		var list []string
		if key.Value == "labels" && value.Kind == yaml.MappingNode {
			list = []string{labelSelector(r, value, below)}
		} else {
			list = r.Texts(value, below)
		}
		o.entries = append(o.entries, onEntry{key.Value, list, value, below})
	})
}

// labelSelector returns a mapping as a label selector.
func labelSelector(r *strict.Reader, node *yaml.Node, path string) string {
	var labels map[string]string
	r.Decode(node, &labels, path)
	var parts []string
	for key, value := range labels {
		parts = append(parts, key+"="+value)
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

// namesOf reports whether a key names targets of a kind, without their place.
func namesOf(key string, kind fault.Object) bool {
	switch key {
	case "names", "component", "volume", "datastore":
		return true
	case "vm", "node":
		return true // a VM is known by its node's name, too
	}
	return strings.EqualFold(key, string(kind))
}

// Selector returns the request for the sandbox.
func (o *On) Selector(kind fault.Object) api.Selector {
	var s api.Selector
	if o == nil {
		return s
	}
	for _, e := range o.entries {
		if namesOf(e.key, kind) {
			s.Names = append(s.Names, e.texts...)
			continue
		}
		text := strings.Join(e.texts, ",")
		switch e.key {
		case "vcenter":
			s.VCenter = text
		case "datacenter":
			s.Datacenter = text
		case "cluster":
			s.Cluster = text
		case "host":
			s.Host = text
		case "region":
			s.Region = text
		case "zone":
			s.Zone = text
		case "role":
			s.Role = text
		case "labels":
			s.Labels = text
		}
	}
	return s
}

// String returns a short description.
func (o *On) String() string {
	if o == nil {
		return ""
	}
	var parts []string
	for _, e := range o.entries {
		parts = append(parts, cmp.Or(strings.TrimSuffix(e.key, "names"), "")+" "+strings.Join(e.texts, ", "))
	}
	return strings.TrimSpace(strings.Join(parts, ", "))
}

// Pick is a value of the world: {node: worker-1, field: providerID}.
type Pick struct {
	Kind world.Kind
	Name string
	// Field is a field of the kind. For a map, Key is its key; for a list, the index from 0.
	Field string
	Key   string

	node *yaml.Node
}

// DecodeYAML parses a pick.
func (p *Pick) DecodeYAML(r *strict.Reader, node *yaml.Node, path string) {
	p.node = node
	var kinds []string
	for _, k := range world.Kinds() {
		kinds = append(kinds, string(k))
	}
	r.Keys(node, path, func(key, value *yaml.Node, below string) {
		if value.Kind != yaml.ScalarNode || strict.IsNull(value) {
			r.Errorf(value, below, "must be a single value, not %s", strict.Describe(value))
			return
		}
		switch {
		case key.Value == "field":
			p.Field = value.Value
		case world.Kind(key.Value).Fields() != nil:
			if p.Kind != "" {
				r.Errorf(key, below, "is a second object: %s is there already", p.Kind)
				return
			}
			p.Kind, p.Name = world.Kind(key.Value), value.Value
		default:
			r.Unknown(key, below, "key", key.Value, append(kinds, "field"))
		}
	})
	if r.Failed() {
		return
	}
	if p.Kind == "" || p.Name == "" || p.Field == "" {
		r.Errorf(node, path, "must name the object: {node: NAME, field: FIELD}")
		return
	}
	name, key, _ := strings.Cut(p.Field, ".")
	f, ok := p.Kind.Field(name)
	if !ok {
		var known []string
		for _, f := range p.Kind.Fields() {
			known = append(known, f.Name)
		}
		_, at := strict.Find(node, "field")
		r.Unknown(at, strict.Below(path, "field"), "field of a "+string(p.Kind), name, known)
		return
	}
	if p.Field, p.Key = name, key; key == "" && f.Map {
		r.Errorf(node, path, "must choose one of its %s: field: %s.NAME", name, name)
	}
}
