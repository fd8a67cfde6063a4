package scenario

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
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
		if f.CCM == "" || f.Why == "" {
			r.Errorf(at("fails").Content[i], strict.Item("fails", i), "must say which cloud controller manager fails it, and why: {ccm: …, why: …}")
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

func checkComponents(r *strict.Reader, s *Scenario, node *yaml.Node) {
	if s.Components.Speed != 0 {
		if err := pace.Speed(s.Components.Speed).Validate(); err != nil {
			_, at := strict.Find(node, "speed")
			r.Errorf(at, "components.speed", "%v", err)
		}
	}
	if n := s.Components.CCM.Replicas; n < 0 || n > 5 {
		_, ccm := strict.Find(node, "ccm")
		_, at := strict.Find(ccm, "replicas")
		r.Errorf(at, "components.ccm.replicas", "must be 1 to 5, not %d", n)
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
