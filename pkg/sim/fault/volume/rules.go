package volume

import (
	"context"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vsphere"
)

// ruled completes a kind that is a rule of CNS, which is named after the lease and is all there is to it. does says what the
// rule does.
func ruled(k fault.Kind, rule func(context.Context, *fault.Call) (r cns.Rule, does string, err error)) *fault.Kind {
	type nothing struct{}
	k.Object, k.Needs = fault.VCenter, []fault.Need{fault.Simulator}
	return fault.New(k, fault.Steps[nothing]{
		Plan: func(ctx context.Context, c *fault.Call) (none nothing, _ string, _ error) {
			_, does, err := rule(ctx, c)
			return none, does, err
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *nothing) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			r, does, err := rule(ctx, c)
			if err != nil {
				return err
			}
			r.Name = c.Lease
			c.Note("cns.scripted", event.Warning, "CNS from now on: %s", does)
			ep.Sim.CNS().Script(r)
			return nil
		},
		Revert: func(_ context.Context, c *fault.Call, _ *nothing) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			ep.Sim.CNS().Unscript(c.Lease)
			return nil
		},
	})
}

// failing completes a kind that makes a call fail; it has the parameter of [answered] and those of [whose].
func failing(k fault.Kind, m call) *fault.Kind {
	return ruled(k, func(ctx context.Context, c *fault.Call) (r cns.Rule, does string, err error) {
		r.Method, r.Count = m.method, c.Params.Number("count")
		about, err := match(ctx, c, &r)
		if err != nil {
			return r, "", err
		}
		m.answer(&r, c.Params.Text("answer"))
		does = fmt.Sprintf("%s%s ends in %s", m.method, about, c.Params.Text("answer"))
		if r.Count > 0 {
			does += fmt.Sprintf(" (%d times)", r.Count)
		}
		return r, does, nil
	})
}

// whose are the parameters that choose the calls.
func whose() []fault.Param {
	return []fault.Param{
		{Name: "volume", Short: "the volume that is hit: claim, PersistentVolume or id; all, when empty", Type: fault.Text},
		{Name: "vm", Short: "the VM that is hit; all, when empty", Type: fault.Text},
	}
}

// times is the parameter that ends it by itself.
func times() fault.Param {
	return fault.Param{Name: "count", Short: "after how many calls it is over; 0 is never", Type: fault.Number, Default: "0"}
}

// match completes a rule with whom it is for, and says that in words.
func match(ctx context.Context, c *fault.Call, r *cns.Rule) (about string, err error) {
	if name := c.Params.Text("volume"); name != "" {
		v, err := named(ctx, c, fault.Volume, name)
		if err != nil {
			return "", err
		}
		r.Volume, about = v.ID, about+" of "+v.Name
	}
	if name := c.Params.Text("vm"); name != "" {
		v, err := named(ctx, c, fault.VM, name)
		if err != nil {
			return "", err
		}
		r.VM, about = v.Ref, about+" on VM "+v.Name
	}
	return about, nil
}

// named finds what is in the target's vCenter by name.
func named(ctx context.Context, c *fault.Call, kind fault.Object, name string) (fault.Item, error) {
	all, err := c.Ground.Items(ctx, kind)
	if err != nil {
		return fault.Item{}, err
	}
	var found []fault.Item
	for _, i := range all {
		if i.VCenter == c.Target.VCenter && i.Called(name) {
			found = append(found, i)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return fault.Item{}, fault.Refuse("vCenter %s: %s %q: there is none of that name", c.Target.VCenter, kind, name)
	}
	return fault.Item{}, &fault.Refusal{
		Code:    "ambiguous",
		Message: fmt.Sprintf("vCenter %s: %s %q: there are %d of that name, %s and %s among them", c.Target.VCenter, kind, name, len(found), found[0].Name, found[1].Name),
	}
}
