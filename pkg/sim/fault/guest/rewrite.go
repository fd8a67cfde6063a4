package guest

import (
	"context"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/machine"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
)

// nothing is the state of a fault that is kept in the simulator.
type nothing struct{}

// change rewrites a report.
type change func(guest.Report) guest.Report

// rewrite is a kind that rewrites what guests report. Prepare plans it for a VM that runs, whose guest is info; the change
// that it returns is made anew when it is applied.
func rewrite(k fault.Kind, prepare func(c *fault.Call, vm *machine.VM, info guest.Info) (does string, f change, err error)) *fault.Kind {
	k.Object, k.Needs = fault.VM, []fault.Need{fault.Simulator}
	plan := func(ctx context.Context, c *fault.Call) (does string, f change, err error) {
		ep, err := machine.Endpoint(c)
		if err != nil {
			return "", nil, err
		}
		err = machine.On(ctx, c, func(_ context.Context, vm *machine.VM) error {
			if err := vm.Running(); err != nil {
				return err
			}
			info, _ := ep.Sim.Guest(vm.Reference())
			if info.NoTools || info.HostName == "" && len(info.Addresses) == 0 {
				return fault.Refuse("vm %s: has no guest that reports anything", vm.Name)
			}
			does, f, err = prepare(c, vm, info)
			return err
		})
		return does, f, err
	}
	return fault.New(k, fault.Steps[nothing]{
		Plan: func(ctx context.Context, c *fault.Call) (nothing, string, error) {
			does, _, err := plan(ctx, c)
			return nothing{}, does, err
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *nothing) error {
			_, f, err := plan(ctx, c)
			if err != nil {
				return err
			}
			return override(c, k.Name, f)
		},
		Revert: func(_ context.Context, c *fault.Call, _ *nothing) error { return release(c, k.Name) },
	})
}

// override puts a change in force.
func override(c *fault.Call, kind string, f change) error {
	ep, err := machine.Endpoint(c)
	if err != nil {
		return err
	}
	defer machine.Causing(ep, c, c.Target.Ref)()
	return ep.Sim.OverrideGuest(c.Target.Ref, machine.Mark(c, kind), f)
}

// release ends it.
func release(c *fault.Call, kind string) error {
	ep, err := machine.Endpoint(c)
	if err != nil {
		return err
	}
	defer machine.Causing(ep, c, c.Target.Ref)()
	ep.Sim.ReleaseGuest(c.Target.Ref, machine.Mark(c, kind))
	return nil
}

// invalid refuses a parameter.
func invalid(message string) error { return &fault.Refusal{Code: "invalid", Message: message} }
