package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/catalogue"
)

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
