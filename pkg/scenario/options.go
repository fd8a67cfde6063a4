package scenario

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// Sandbox is a running sandbox: an [api.Client].
type Sandbox interface {
	Status(ctx context.Context) (api.Status, error)
	Watch(ctx context.Context, after uint64, f func(api.Update) error) error
	Inject(ctx context.Context, r api.InjectRequest) (api.Lease, error)
	Heal(ctx context.Context, r api.HealRequest) ([]api.Lease, error)
	Calls(ctx context.Context) ([]api.Calls, error)
	Metrics(ctx context.Context, component string) ([]byte, error)
}

// Options configure a run. The zero value suffices for scenarios without commands.
type Options struct {
	// Observe gets every change, from one goroutine at a time. It must return quickly.
	Observe func(result.Update)
	// Command runs a command of a scenario, kubectl, govc or vsphere-sandbox, with the environment of the sandbox. Its error means
	// that the command could not run; the scenario judges the exit status.
	Command func(context.Context, Command) (Output, error)
	// Seed chooses targets. Default: 1, so that runs are alike.
	Seed uint64
	// Patience multiplies every within:, for slow machines. Default: 1.
	Patience float64
	// FailFast skips the rest after the first step that does not pass. Without it, only a failed wait or an action that failed ends
	// a scenario early.
	FailFast bool
	// KnownToFail reports whether the program is known to fail a scenario: its expectations then wait for a third of their time
	// limit, at least [KnownWithin]. Default: it is not.
	KnownToFail func(*Scenario) bool
	// Disposable means that the sandbox is deleted afterwards: an interrupted run restores nothing in it.
	Disposable bool
	// Number is the position of this scenario among Of, for Observe.
	Number, Of int
	// Name, CCM and CCMVersion are those of the sandbox, for the result.
	Name, CCM, CCMVersion string
}

// Command is a command of a scenario.
type Command struct {
	// Argv is kubectl, govc or vsphere-sandbox, with its arguments.
	Argv  []string
	Stdin string
	// Dir is the working directory of the command: that of the scenario's file, or "" for the current one.
	Dir string
}

// Output is the result of a command.
type Output struct {
	Stdout, Stderr string
	Exit           int
}

// Outcome is the result of a scenario.
type Outcome struct {
	result.Scenario
	// Left describes what the scenario has not restored in the sandbox: do not run another scenario on it.
	Left []string
	// Timeline is the course of the run without times and numbers, the same for every run of a seed: see [Timeline].
	Timeline string
}

// Time limits of a run outside of its steps.
const (
	syncTime   = 30 * time.Second
	healTime   = 2 * time.Minute
	settleTime = time.Minute
	wellTime   = 5 * time.Second
	// GraceTime is the time limit for healing faults after an interrupt, in a sandbox that stays.
	GraceTime = 15 * time.Second
	// DefaultWithin is the default time limit of an expectation. Only a failing one takes all of it.
	DefaultWithin = time.Minute
	// KnownWithin is the shortest time limit that is not shortened when a failure is expected.
	KnownWithin = 15 * time.Second
	// pollEvery is the interval for calls and metrics, which no event reports.
	pollEvery = 250 * time.Millisecond
)

func (o Options) withDefaults() Options {
	o.Seed = cmp.Or(o.Seed, 1)
	if !(o.Patience > 0) {
		o.Patience = 1
	}
	if o.Observe == nil {
		o.Observe = func(result.Update) {}
	}
	if o.Number == 0 {
		o.Number, o.Of = 1, 1
	}
	return o
}

// limit returns how long a step may wait.
func (r *run) limit(s *Step) time.Duration {
	within := s.within().At(r.speed)
	if r.options.KnownToFail != nil && r.options.KnownToFail(r.scenario) {
		within = min(within, max(within/3, KnownWithin))
	}
	return time.Duration(float64(within) * r.options.Patience)
}

func (s *Step) within() Duration {
	if s.Within != nil {
		return *s.Within
	}
	return Duration{D: DefaultWithin}
}

// Requirements are what a scenario needs of its sandbox.
type Requirements struct {
	Topology   *topology.Topology
	Components Components
}

// Requirements returns what the scenario needs.
func (s *Scenario) Requirements() Requirements {
	return Requirements{Topology: s.Topology.Resolved, Components: s.Components}
}

// Kubernetes returns what an embedded cluster must be: the scenario counts more than its topology.
func (r Requirements) Kubernetes() topology.Kubernetes {
	var k topology.Kubernetes
	if r.Topology != nil {
		k = r.Topology.Spec.Kubernetes
	}
	k.Version = cmp.Or(r.Components.Kubernetes, k.Version)
	return k
}

// Key returns equal texts for equal requirements.
func (r Requirements) Key() string {
	if r.Components.CCM.Replicas == 1 {
		r.Components.CCM.Replicas = 0 // the default
	}
	if r.Components.CSIReplicas == 1 {
		r.Components.CSIReplicas = 0 // the default
	}
	if r.Components.CSI == "off" {
		r.Components.CSI = "" // the default
	}
	if r.Components.LoadBalancer == "none" {
		r.Components.LoadBalancer = "" // the default
	}
	data, err := json.Marshal(r)
	if err != nil {
		return "" // plain data never fails
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// Group is scenarios that can run on one sandbox, one after the other.
type Group struct {
	Requirements
	Scenarios []*Scenario
}

// GroupBy groups scenarios that can share a sandbox, and keeps their order.
func GroupBy(list []*Scenario) []Group {
	var groups []Group
	at := map[string]int{}
	for _, s := range list {
		r := s.Requirements()
		i, ok := at[r.Key()]
		if !ok {
			i = len(groups)
			at[r.Key()] = i
			groups = append(groups, Group{Requirements: r})
		}
		groups[i].Scenarios = append(groups[i].Scenarios, s)
	}
	// Plain ones first: they interest most readers.
	slices.SortStableFunc(groups, func(a, b Group) int { return cmp.Compare(a.weight(), b.weight()) })
	return groups
}

func (g Group) weight() int {
	c := g.Components.CCM
	if g.Components.Speed == 0 && g.Components.CSI == "" && g.Components.LoadBalancer == "" && g.Components.Kubernetes == "" && c.Source == "" && c.Replicas <= 1 && len(c.Args) == 0 && len(c.Env) == 0 {
		return 0
	}
	return 1
}

// LoadCatalogue loads a scenario of the catalogue, by name or by theme/name. For an unknown name, the error wraps
// [fs.ErrNotExist] and has the nearest name.
func LoadCatalogue(name string, settings ...topology.Setting) (*Scenario, error) {
	entry, err := scenarios.Find(name)
	if err != nil {
		var names []string
		for _, e := range scenarios.Catalogue() {
			names = append(names, e.Name)
		}
		if near := nearest.Of(name, names); near != "" {
			err = fmt.Errorf("%w; did you mean %q?", err, near)
		}
		return nil, err
	}
	return loadEntry(entry, settings)
}

func loadEntry(entry scenarios.Entry, settings []topology.Setting) (*Scenario, error) {
	s, err := LoadFS(scenarios.FS(), entry.Path, settings...)
	if err != nil {
		return nil, err
	}
	s.Theme = entry.Theme
	return s, nil
}

// Catalogue loads all scenarios that come with the program, sorted by theme and name. It leaves out those that fail to load, and
// returns their errors.
func Catalogue() ([]*Scenario, error) {
	var all []*Scenario
	var errs []error
	for _, entry := range scenarios.Catalogue() {
		s, err := loadEntry(entry, nil)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, s)
	}
	return all, errors.Join(errs...)
}

// Duration is a time in a scenario: 10s is real time; 40s/speed is forty seconds on a cluster with upstream's defaults, and
// shorter on a faster one.
type Duration struct {
	D time.Duration
	// Scaled durations are divided by the sandbox's speed.
	Scaled bool
}

// maxDuration is longer than any scenario needs.
const maxDuration = 24 * time.Hour

// ParseDuration parses a duration.
func ParseDuration(text string) (Duration, error) {
	number, scaled := strings.CutSuffix(strings.ReplaceAll(text, " ", ""), "/speed")
	d, err := time.ParseDuration(number)
	switch {
	case err != nil:
		return Duration{}, fmt.Errorf("must be a duration such as 500ms, 10s or 1m30s, or 40s/speed for a time of a cluster with upstream's defaults, not %q", text)
	case d < 0:
		return Duration{}, fmt.Errorf("must not be negative, as %q is", text)
	case d > maxDuration:
		return Duration{}, fmt.Errorf("must not be more than a day, as %q is", text)
	}
	return Duration{D: d, Scaled: scaled}, nil
}

// DecodeYAML parses a duration.
func (d *Duration) DecodeYAML(r *strict.Reader, node *yaml.Node, path string) {
	if node.Kind != yaml.ScalarNode || strict.IsNull(node) {
		r.Errorf(node, path, "must be a duration such as 10s, not %s", strict.Describe(node))
		return
	}
	if strict.IsLate(node.Value) {
		r.Errorf(node, path, "must be known before the scenario runs, unlike ${…} of a set step")
		return
	}
	parsed, err := ParseDuration(node.Value)
	if err != nil {
		hint := ""
		if _, err := strconv.ParseUint(node.Value, 10, 16); err == nil {
			hint = node.Value + "s"
		}
		r.Hint(node, path, hint, "%v", err)
		return
	}
	*d = parsed
}

// MarshalYAML writes what DecodeYAML reads.
func (d Duration) MarshalYAML() (any, error) { return d.String(), nil }

// IsZero reports whether the duration is zero.
func (d Duration) IsZero() bool { return d.D == 0 }

// At returns the duration at a speed.
func (d Duration) At(speed float64) time.Duration {
	if d.Scaled && speed > 0 {
		return time.Duration(float64(d.D) / speed)
	}
	return d.D
}

// String returns the short form.
func (d Duration) String() string {
	text := d.D.String()
	for _, zero := range []string{"m0s", "h0m"} { // 1m0s
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	if d.Scaled {
		text += "/speed"
	}
	return text
}
