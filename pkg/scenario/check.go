package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/catalogue"
)

var (
	scenarioName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	stepName     = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,62}$`)
)

// MaxSteps is the maximum number of steps of a scenario.
const MaxSteps = 1000

// check reports contradictions in a scenario that was decoded.
func check(r *strict.Reader, s *Scenario) {
	at := func(key string) *yaml.Node { _, node := strict.Find(s.root, key); return node }
	if _, named := strict.Find(at("metadata"), "name"); !scenarioName.MatchString(s.Metadata.Name) {
		if named == nil {
			named = at("metadata")
		}
		r.Errorf(named, "metadata.name", "must be a DNS label: at most 63 lower-case letters, digits and hyphens, not %q", s.Metadata.Name)
	}
	if strings.Contains(strings.TrimSpace(s.Metadata.Description), "\n") {
		_, node := strict.Find(at("metadata"), "description")
		r.Errorf(node, "metadata.description", "must be one line")
	}
	for i, f := range s.Fails {
		if (f.CCM == "") == (f.CSI == "") || f.Why == "" {
			r.Errorf(at("fails").Content[i], strict.Item("fails", i), "must say which cloud controller manager or CSI driver fails it, and why: {ccm: …, why: …} or {csi: …, why: …}")
			continue
		}
		if err := f.Check(); err != nil {
			r.Errorf(at("fails").Content[i], strict.Item("fails", i), "%v", err)
		}
	}
	checkComponents(r, s, at("components"))
	checkTopologyUse(r, s)
	if len(s.Steps) == 0 || len(s.Steps) > MaxSteps {
		node := at("steps")
		if node == nil {
			node = s.root
		}
		r.Errorf(node, "steps", "must be a list of 1 to %d steps", MaxSteps)
		return
	}
	c := &checker{Reader: r, scenario: s, marks: map[string]*Step{}, places: placesOf(s.Topology.Resolved, s.Components.csi()...)}
	for i, step := range s.Steps {
		c.step(step, i)
	}
}

// balancerNSX is the load balancer of the NSX Manager.
const balancerNSX = "nsx"

func checkComponents(r *strict.Reader, s *Scenario, node *yaml.Node) {
	if s.Components.Speed != 0 {
		if err := pace.Speed(s.Components.Speed).Validate(); err != nil {
			_, at := strict.Find(node, "speed")
			r.Errorf(at, "components.speed", "%v", err)
		}
	}
	if v := s.Components.Kubernetes; v != "" {
		if _, ok := release.Find(v); !ok {
			_, at := strict.Find(node, "kubernetes")
			r.Errorf(at, "components.kubernetes", "must be %s, not %q", strings.Join(release.Names(), ", "), v)
		}
	}
	if n := s.Components.CCM.Replicas; n < 0 || n > 5 {
		_, ccm := strict.Find(node, "ccm")
		_, at := strict.Find(ccm, "replicas")
		r.Errorf(at, "components.ccm.replicas", "must be 1 to 5, not %d", n)
	}
	if n := s.Components.CSIReplicas; n < 0 || n > 5 || n > 1 && s.Components.CSI != "builtin" {
		_, at := strict.Find(node, "csiReplicas")
		r.Errorf(at, "components.csiReplicas", "must be 1 to 5, beside csi: builtin, not %d", n)
	}
	if b := s.Components.LoadBalancer; !slices.Contains([]string{"", "none", "simple", balancerNSX}, b) {
		_, at := strict.Find(node, "loadbalancer")
		r.Errorf(at, "components.loadbalancer", "must be simple, nsx or none, not %q", b)
	} else if t := s.Topology.Resolved; b == balancerNSX && t != nil && t.Spec.NSX == nil {
		_, at := strict.Find(node, "loadbalancer")
		r.Errorf(at, "components.loadbalancer", "nsx needs an NSX Manager: add nsx: {} to the spec of the topology")
	}
	if d := s.Components.CSI; d != "" && d != "builtin" && d != "off" {
		_, at := strict.Find(node, "csi")
		r.Errorf(at, "components.csi", "must be builtin or off, not %q", d)
	}
}

func checkTopologyUse(r *strict.Reader, s *Scenario) {
	if t := s.Topology.Resolved; t != nil && len(t.Nodes()) == 0 {
		r.Errorf(s.Topology.file.node, "topology", "has no node: none of its VMs has a role")
	}
}

// checker checks the steps in their order.
type checker struct {
	*strict.Reader
	scenario *Scenario
	// marks are the named steps so far.
	marks  map[string]*Step
	places *places
	at     Duration
}

func (c *checker) step(s *Step, number int) {
	if s.node == nil || s.node.Kind != yaml.MappingNode {
		return // reported
	}
	if s.Action = c.action(s); s.Action == "" {
		return
	}
	c.keys(s)
	c.times(s)
	switch s.Action {
	case ActionInject:
		c.inject(s)
	case ActionHeal:
		c.heal(s)
	case ActionWait, ActionExpect, ActionNever:
		if s.Never != nil {
			s.Never.ForNever()
		}
		c.statement(s, number)
	case ActionRun:
		c.run(s)
	case ActionSet:
		c.set(s)
	}
	if s.As == "" {
		return
	}
	switch first, taken := c.marks[s.As]; {
	case !stepName.MatchString(s.As) || slices.Contains(reservedNames(), s.As):
		c.key(s, "as", "must be a name for the step other than %s, not %q", strings.Join(reservedNames(), ", "), s.As)
	case taken:
		c.key(s, "as", "%q is already there, on line %d", s.As, first.Line)
	default:
		c.marks[s.As] = s
	}
	c.places.mention(s)
}

// reservedNames are those with a meaning in places where a step is named.
func reservedNames() []string { return []string{"start", "step", "end", "all"} }

// key reports an error in a key of a step.
func (c *checker) key(s *Step, key, format string, args ...any) {
	_, node := strict.Find(s.node, key)
	if node == nil {
		node = s.node
	}
	c.Errorf(node, strict.Below(s.path, key), format, args...)
}

// action finds the action of a step, which must be exactly one, and a note.
func (c *checker) action(s *Step) Action {
	var found Action
	for _, a := range actions() {
		key, _ := strict.Find(s.node, string(a))
		switch {
		case key == nil, a == ActionNote && found != "":
		case found != "":
			c.Errorf(key, strict.Below(s.path, string(a)), "is a second action of the step, which has %s: make it two steps", found)
			return ""
		default:
			found = a
		}
	}
	if found == "" {
		var words []string
		for _, a := range actions() {
			words = append(words, string(a))
		}
		c.Errorf(s.node, s.path, "does nothing: it needs one of %s", strings.Join(words, ", "))
	}
	return found
}

// keys reports keys that the action does not have.
func (c *checker) keys(s *Step) {
	allowed := append([]string{"note", "as", "after", "at", string(s.Action)}, actionKeys(s.Action)...)
	for i := 0; i+1 < len(s.node.Content); i += 2 {
		if key := s.node.Content[i]; !slices.Contains(allowed, key.Value) {
			c.Errorf(key, strict.Below(s.path, key.Value), "is no key of %s", s.Action)
		}
	}
}

// actionKeys are the keys of an action, in addition to those of all actions.
func actionKeys(a Action) []string {
	switch a {
	case ActionInject:
		return []string{"on", "with", "mode", "seed", "for"}
	case ActionWait, ActionExpect:
		return []string{"within", "for"}
	case ActionNever:
		return []string{"for", "until"}
	case ActionRun:
		return []string{"stdin", "exit", "stdout", "stderr", "within"}
	case ActionSet:
		return []string{"within"}
	}
	return nil
}

func (c *checker) run(s *Step) {
	known := []string{"kubectl", "govc", "vsphere-sandbox"}
	if len(s.Run) == 0 {
		c.key(s, "run", "must be a command with its arguments: [kubectl, get, nodes]")
		return
	}
	if !slices.Contains(known, s.Run[0]) {
		_, node := strict.Find(s.node, "run")
		c.Unknown(node, strict.Below(s.path, "run"), "command", s.Run[0], known)
	}
	for key, text := range map[string]string{"stdout": s.Stdout, "stderr": s.Stderr} {
		if _, err := regexp.Compile(text); err != nil && !strict.IsLate(text) {
			c.key(s, key, "is no regular expression: %v", err)
		}
	}
}

func (c *checker) set(s *Step) {
	if len(s.Set) == 0 {
		c.key(s, "set", "must name values: {id: {node: NAME, field: FIELD}}")
	}
	_, node := strict.Find(s.node, "set")
	for name, pick := range s.Set {
		at, _ := strict.Find(node, name)
		path := strict.Below(strict.Below(s.path, "set"), name)
		if !parameterName.MatchString(name) {
			c.Errorf(at, path, "must begin with a letter and have letters, digits, - and _ only")
		}
		if _, taken := c.scenario.Values[name]; taken {
			c.Errorf(at, path, "is a parameter of the scenario, which has its value")
		}
		if pick.node != nil {
			_, value := strict.Find(pick.node, string(pick.Kind))
			c.places.check(c, pick.Kind, pick.Name, value, strict.Below(path, string(pick.Kind)))
		}
	}
}

// maxWithin is longer than any useful wait.
const maxWithin = time.Hour

// times reports contradictory durations.
func (c *checker) times(s *Step) {
	has := func(key string) bool { k, _ := strict.Find(s.node, key); return k != nil }
	if has("at") && has("after") {
		c.key(s, "at", "and after both set when the step begins: remove one")
	}
	if has("at") {
		if s.At.Scaled == c.at.Scaled && s.At.D < c.at.D {
			c.key(s, "at", "is %s, which is over when the step before it, at %s, is", s.At, c.at)
		}
		c.at = s.At
	}
	if has("for") && s.For.IsZero() {
		c.key(s, "for", "must be longer than 0s")
	}
	if s.Within != nil && s.Within.D > maxWithin {
		c.key(s, "within", "must not be more than an hour, as %s is", *s.Within)
	}
	if s.Action != ActionNever {
		return
	}
	switch {
	case has("for") && has("until"):
		c.key(s, "until", "and for both set how long: remove one")
	case !has("for") && !has("until"):
		c.key(s, "never", "needs for: or until: how long it must not happen")
	case has("until") && s.Until != "end":
		c.until(s)
	}
}

// until finds the step, which comes later.
func (c *checker) until(s *Step) {
	var later []string
	after := false
	for _, one := range c.scenario.Steps {
		if after && one.As != "" {
			if one.As == s.Until {
				return
			}
			later = append(later, one.As)
		}
		after = after || one == s
	}
	_, node := strict.Find(s.node, "until")
	c.Unknown(node, strict.Below(s.path, "until"), "later step", s.Until, append(later, "end"))
}

// inject checks a fault against the catalogue of faults.
func (c *checker) inject(s *Step) {
	_, node := strict.Find(s.node, "inject")
	if strict.IsLate(s.Inject) {
		c.key(s, "inject", "must be known before the scenario runs")
		return
	}
	kinds := catalogue.Kinds()
	i := slices.IndexFunc(kinds, func(k *fault.Kind) bool { return k.Name == s.Inject })
	if i < 0 {
		c.Unknown(node, strict.Below(s.path, "inject"), "fault", s.Inject, catalogue.Names())
		return
	}
	s.fault = kinds[i]
	if !strict.IsLate(s.Mode) && fault.CheckMode(s.Mode) != nil {
		c.key(s, "mode", "must be one, all, a number or a percentage such as 25%%, not %q", s.Mode)
	}
	if !s.For.IsZero() && s.fault.Momentary {
		c.key(s, "for", "has no effect on %s, which is over at once", s.Inject)
	}
	c.params(s)
	c.targets(s)
}

func (c *checker) params(s *Step) {
	_, with := strict.Find(s.node, "with")
	names := make([]string, len(s.fault.Params))
	for i, p := range s.fault.Params {
		names[i] = p.Name
		if _, given := s.With[p.Name]; p.Required && !given {
			c.key(s, "with", "%s needs %s: %s", s.Inject, p.Name, p.Short)
		}
	}
	for name, value := range s.With {
		key, at := strict.Find(with, name)
		path := strict.Below(strict.Below(s.path, "with"), name)
		i := slices.Index(names, name)
		if i < 0 {
			if len(names) == 0 {
				c.Errorf(key, path, "%s has no parameters", s.Inject)
				continue
			}
			c.Unknown(key, path, "parameter of "+s.Inject, name, names)
			continue
		}
		if err := paramValue(s.fault.Params[i], value); err != nil && !strict.IsLate(value) {
			c.Errorf(at, path, "%v", err)
		}
	}
}

// paramValue checks the value of a fault's parameter.
func paramValue(p fault.Param, value string) error {
	if len(p.Choices) > 0 {
		if !slices.Contains(p.Choices, value) && value != p.Default {
			return fmt.Errorf("must be one of %s, not %q", strings.Join(p.Choices, ", "), value)
		}
		return nil
	}
	var err error
	what := ""
	switch p.Type {
	case fault.Duration:
		_, err = time.ParseDuration(value)
		what = "a duration such as 250ms"
	case fault.Number:
		_, err = strconv.ParseUint(value, 10, 31)
		what = "a whole number from 0"
	case fault.Fraction:
		number, percent := strings.CutSuffix(value, "%")
		var f float64
		if f, err = strconv.ParseFloat(number, 64); percent {
			f /= 100
		}
		if err == nil && !(f >= 0 && f <= 1) {
			err = strconv.ErrRange
		}
		what = "a fraction from 0 to 1, or a percentage"
	case fault.Bool:
		_, ok := strict.Truth(value)
		if !ok {
			err = strconv.ErrSyntax
		}
		what = "true or false"
	}
	if err != nil {
		return fmt.Errorf("must be %s, not %q", what, value)
	}
	return nil
}

// targets checks names against the topology, as far as it knows them.
func (c *checker) targets(s *Step) {
	if s.fault.Object == fault.Sandbox {
		if s.On != nil {
			c.key(s, "on", "has no effect on %s, which affects the whole sandbox", s.Inject)
		}
		return
	}
	if s.On == nil {
		c.key(s, "on", "is missing: the target of %s: on: {%s: NAME}", s.Inject, strings.ToLower(string(s.fault.Object)))
		return
	}
	for _, e := range s.On.entries {
		for _, text := range e.texts {
			if text == "" {
				c.Errorf(e.node, e.path, "must not be empty")
				continue
			}
			if namesOf(e.key, s.fault.Object) {
				c.places.target(c, s.fault.Object, text, e.node, e.path)
			} else {
				c.places.check(c, world.Kind(e.key), text, e.node, e.path)
			}
		}
	}
}

func (c *checker) heal(s *Step) {
	if len(s.Heal) == 0 {
		c.key(s, "heal", "must be the name of a step that injects a fault, or all")
	}
	_, node := strict.Find(s.node, "heal")
	for _, name := range s.Heal {
		if name == "all" {
			continue
		}
		switch step := c.marks[name]; {
		case step == nil:
			c.Unknown(node, strict.Below(s.path, "heal"), "step", name, c.injected())
		case step.Action != ActionInject:
			c.key(s, "heal", "%q is a step that injects nothing, on line %d", name, step.Line)
		case step.fault != nil && step.fault.Momentary:
			c.key(s, "heal", "%s, on line %d, is over at once: there is nothing to heal", step.Inject, step.Line)
		}
	}
}

func (c *checker) injected() []string {
	var names []string
	for name, step := range c.marks {
		if step.Action == ActionInject {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return append(names, "all")
}

// statement checks the names in an expectation: earlier steps, and objects of the topology.
func (c *checker) statement(s *Step, _ int) {
	x := s.Statement()
	if x == nil {
		c.key(s, string(s.Action), "must say of what: %v", expect.Subjects())
		return
	}
	_, node := strict.Find(s.node, string(s.Action))
	path := strict.Below(s.path, string(s.Action))
	x.Walk(func(x *expect.Expectation) {
		switch {
		case x.Rows != nil:
			c.rows(s, x.Rows, path)
		case x.Event != nil:
			c.since(s, x.Event.Since, node, path)
			c.event(x.Event, node, path)
		case x.Events != nil:
			c.since(s, x.Events.Since, node, path)
			for _, e := range x.Events.Order {
				c.event(e, node, path)
			}
		case x.Calls != nil:
			c.since(s, x.Calls.Since, node, path)
			c.places.check(c, world.VCenter, x.Calls.VCenter, node, path)
		case x.Log != nil:
			c.since(s, x.Log.Since, node, path)
			c.places.check(c, world.Component, x.Log.Component, node, path)
		case x.Metric != nil:
			c.since(s, x.Metric.Since, node, path)
			c.places.check(c, world.Component, x.Metric.Component, node, path)
		}
	})
}

// rows checks names. Any name may be expected not to exist, but an expectation of a name that never existed has no use.
func (c *checker) rows(_ *Step, rows *expect.Rows, path string) {
	for name, node := range rows.NameNodes() {
		c.places.check(c, rows.Kind, name, node, strict.Below(path, string(rows.Kind)))
	}
}

func (c *checker) event(e *expect.Event, node *yaml.Node, path string) {
	c.places.check(c, world.VCenter, e.VCenter, node, path)
	c.places.object(c, e.Object, node, path)
	if e.Cause == nil {
		return
	}
	if e.Cause.Event != nil {
		c.event(e.Cause.Event, node, path)
		return
	}
	if name := e.Cause.Name; c.marks[name] == nil && !isEventKind(name) {
		c.Unknown(node, strict.Below(path, "cause"), "step, and no kind of event,", name, c.names())
	}
}

// isEventKind reports whether a text can be the kind of an event: it has a dot, or is a pattern.
func isEventKind(text string) bool {
	for _, r := range text {
		if r == '.' || r == '*' {
			return true
		}
	}
	return strict.IsLate(text)
}

func (c *checker) since(s *Step, name string, node *yaml.Node, path string) {
	if name == "" || name == expect.SinceStart || name == expect.SinceStep || c.marks[name] != nil || name == s.As {
		return
	}
	c.Unknown(node, strict.Below(path, "since"), "step", name, append(c.names(), expect.SinceStart, expect.SinceStep))
}

func (c *checker) names() []string {
	var names []string
	for name := range c.marks {
		names = append(names, name)
	}
	return names
}
