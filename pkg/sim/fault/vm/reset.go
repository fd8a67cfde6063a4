package vm

import (
	"context"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/machine"
)

func resetNow(ctx context.Context, c *fault.Call) error {
	return machine.On(ctx, c, func(ctx context.Context, vm *machine.VM) error {
		t, err := vm.Reset(ctx)
		return machine.Done(ctx, t, err)
	})
}

func reset() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "vm.reset", Object: fault.VM, Momentary: true,
		Short: "resets VMs, as the button does",
		Long:  "The VM stays on; its guest goes away and boots. There is nothing to heal.",
	}, fault.Steps[powered]{
		Plan:  planPower("reset (is on)"),
		Apply: func(ctx context.Context, c *fault.Call, _ *powered) error { return resetNow(ctx, c) },
	})
}

func crashLoop() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "vm.crash-loop", Object: fault.VM, Touches: touchesPower,
		Short: "resets VMs over and over",
		Long: "The guest has hardly booted when it is reset again: the node comes and goes. A VM that is not on when its time comes is left " +
			"alone until the next. Healing ends it; the guest boots a last time.",
		Params: []fault.Param{{Name: "every", Short: "time between two resets", Type: fault.Duration, Default: "10s"}},
	}, fault.Steps[powered]{
		Plan: func(ctx context.Context, c *fault.Call) (powered, string, error) {
			every := c.Params.Duration("every")
			if every < 10*time.Millisecond {
				return powered{}, "", &fault.Refusal{Code: "invalid", Message: "every: " + every.String() + " is too short: at least 10ms"}
			}
			return planPower("reset every "+every.String())(ctx, c)
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *powered) error { return resetNow(ctx, c) },
		Run: func(ctx context.Context, c *fault.Call, _ *powered) error {
			tick := time.NewTicker(c.Params.Duration("every"))
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return nil
				case <-tick.C:
				}
				if err := resetNow(ctx, c); err != nil && ctx.Err() == nil {
					c.Note("fault.skipped", event.Warning, "not reset this time: %v", err)
				}
			}
		},
		Revert: func(context.Context, *fault.Call, *powered) error { return nil }, // Run has ended; the guest boots
	})
}
