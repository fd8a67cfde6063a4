package api

import (
	"context"
	"errors"
	"reflect"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// kept is the state of a fault that a rule of the gate is all there is to: the rule is named after the lease.
type kept struct{}

// ruled completes a kind that is a rule of the gate. act says what the rule does, and what that is in words; the words
// are followed by who is hit.
func ruled(k fault.Kind, act func(fault.Values) (gate.Action, string)) *fault.Kind {
	return rulesFor(k, func(c *fault.Call) ([]gate.Rule, string) {
		action, words := act(c.Params)
		r := rule(c, match(c.Params), action)
		return []gate.Rule{r}, words + " " + victims(c.Params)
	})
}

// rulesFor completes a kind that is several rules.
func rulesFor(k fault.Kind, rules func(*fault.Call) ([]gate.Rule, string)) *fault.Kind {
	k.Object, k.Needs = fault.VCenter, []fault.Need{fault.Gated}
	return fault.New(k, fault.Steps[kept]{
		Plan: func(_ context.Context, c *fault.Call) (kept, string, error) {
			v, err := front(c)
			if err != nil {
				return kept{}, "", err
			}
			list, does := rules(c)
			return kept{}, does, planned(v, list)
		},
		Apply: func(_ context.Context, c *fault.Call, _ *kept) error {
			v, err := front(c)
			if err != nil {
				return err
			}
			list, _ := rules(c)
			return add(v.Gate(), list)
		},
		Revert: func(ctx context.Context, c *fault.Call, _ *kept) error {
			v, err := front(c)
			if err != nil {
				return err
			}
			return remove(ctx, v.Gate(), c.Lease)
		},
	})
}

// rule is a rule of the lease.
func rule(c *fault.Call, m gate.Match, a gate.Action) gate.Rule {
	r := gate.Rule{Name: c.Lease, Match: m, Action: a, Count: c.Params.Number("count"), Seed: c.Rand.Uint64()}
	if share, ok := c.Params["share"]; ok && share != "1" {
		r.Probability = c.Params.Fraction("share")
	}
	return r
}

// front is where clients reach the target.
func front(c *fault.Call) (fault.Front, error) {
	ep := c.Ground.VCenter(c.Target.Name)
	if ep == nil || ep.Front == nil {
		return nil, &fault.Refusal{Code: "not-found", Message: "there is no vCenter " + c.Target.Name + " with a gate in front of it"}
	}
	return ep.Front, nil
}

// vcenter is the target, simulated.
func vcenter(c *fault.Call) (*sim.VCenter, error) {
	ep := c.Ground.VCenter(c.Target.Name)
	if ep == nil || ep.Sim == nil {
		return nil, &fault.Refusal{Code: "not-found", Message: "there is no simulated vCenter " + c.Target.Name}
	}
	return ep.Sim, nil
}

// planned refuses rules that make no sense, and those that are in force already: to do it twice would look like nothing.
func planned(v fault.Front, list []gate.Rule) error {
	if v.Gate().Mode().State == gate.Down {
		return &fault.Refusal{
			Code: "conflict", Message: "vCenter " + v.Name() + " is down: nobody would notice", Try: "vsphere-sandbox vcenter up " + v.Name(),
		}
	}
	there := v.Gate().Rules()
	for _, r := range list {
		if err := r.Validate(); err != nil {
			return &fault.Refusal{Code: "invalid", Message: words(err)}
		}
		for _, other := range there {
			if other.State == gate.Active && reflect.DeepEqual(other.Rule.Match, r.Match) && reflect.DeepEqual(other.Rule.Action, r.Action) {
				return fault.Refuse("the same is done to vCenter %s already, by %s", v.Name(), other.Rule.Name)
			}
		}
	}
	return nil
}

// words makes one line of what is wrong with a rule, in the words of our parameters.
func words(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i, l := range lines {
		if _, what, ok := strings.Cut(l, ": "); ok && strings.HasPrefix(l, "rule") {
			lines[i] = what
		}
		lines[i] = strings.NewReplacer("match.user", "account", "match.object.name", "object", "match.", "", "action.", "").Replace(lines[i])
	}
	return strings.Join(lines, "; ")
}

// add puts all of the rules in force, or none.
func add(g *gate.Gate, list []gate.Rule) error {
	for _, r := range list {
		if _, err := g.Add(r); err != nil {
			return err
		}
	}
	return nil
}

// remove takes the rules of a lease away, if they are still there.
func remove(ctx context.Context, g *gate.Gate, lease string) error {
	for _, s := range g.Rules() {
		if s.Rule.Name != lease {
			continue
		}
		if err := g.Remove(ctx, s.ID); err != nil && !errors.Is(err, gate.ErrNoRule) {
			return err
		}
	}
	return nil
}
