package identity

import (
	"context"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/machine"
)

func uuidBlank() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "identity.uuid-blank", Object: fault.VM, Needs: []fault.Need{fault.Simulator}, Touches: touchesUUID,
		Short: "has VMs without a BIOS UUID",
		Long: "As for seconds while a host fails over: config.uuid and summary.config.uuid are empty, and nobody finds the VM by its UUID. " +
			"A node that is registered meanwhile must not get the provider ID vsphere:// of no VM.",
		Reported: []string{"cloud-provider-vsphere#521"},
	}, fault.Steps[identified]{
		Plan: func(ctx context.Context, c *fault.Call) (before identified, _ string, _ error) {
			err := machine.On(ctx, c, func(_ context.Context, vm *machine.VM) error {
				if before.UUID = vm.Config.Uuid; before.UUID == "" {
					return fault.Refuse("vm %s: has no UUID already", vm.Name)
				}
				return vm.Reachable()
			})
			return before, "take its UUID away (is " + before.UUID + ")", err
		},
		Apply:  func(_ context.Context, c *fault.Call, _ *identified) error { return writeUUID(c, "") },
		Revert: func(_ context.Context, c *fault.Call, s *identified) error { return writeUUID(c, s.UUID) },
	})
}

func writeUUID(c *fault.Call, id string) error {
	ep, err := machine.Endpoint(c)
	if err != nil {
		return err
	}
	defer machine.Causing(ep, c, c.Target.Ref)()
	ep.Sim.WriteUUID(c.Target.Ref, id)
	return nil
}
