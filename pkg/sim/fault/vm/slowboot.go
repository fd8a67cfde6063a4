package vm

import (
	"context"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/machine"
)

func slowBoot() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "vm.slow-boot", Object: fault.VM, Needs: []fault.Need{fault.Simulator}, Touches: "boot",
		Short: "resets VMs whose guests then boot for longer than usual",
		Long: "Every boot takes so much longer, this one and further ones: the VM is on, but reports neither name nor addresses. " +
			"Healing has boots take as long as usual; a guest that is still at it begins anew.",
		Params:   []fault.Param{{Name: "by", Short: "how much longer a boot takes", Type: fault.Duration, Default: "1m"}},
		Reported: []string{"cloud-provider-vsphere#381", "cloud-provider-vsphere#383", "rancher#50089"},
	}, fault.Steps[nothing]{
		Plan: func(ctx context.Context, c *fault.Call) (nothing, string, error) {
			by := c.Params.Duration("by")
			if by <= 0 {
				return nothing{}, "", &fault.Refusal{Code: "invalid", Message: "by: " + by.String() + " is no time"}
			}
			_, does, err := planPower(fmt.Sprintf("reset (is on), boots take %s longer", by))(ctx, c)
			return nothing{}, does, err
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *nothing) error {
			ep, err := machine.Endpoint(c)
			if err != nil {
				return err
			}
			if err := ep.Sim.SlowGuest(c.Target.Ref, machine.Mark(c, "slow"), c.Params.Duration("by")); err != nil {
				return err
			}
			return resetNow(ctx, c)
		},
		Revert: func(_ context.Context, c *fault.Call, _ *nothing) error {
			ep, err := machine.Endpoint(c)
			if err != nil {
				return err
			}
			defer machine.Causing(ep, c, c.Target.Ref)()
			ep.Sim.ReleaseGuest(c.Target.Ref, machine.Mark(c, "slow"))
			return nil
		},
	})
}
