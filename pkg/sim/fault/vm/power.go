package vm

import (
	"context"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/machine"
)

// What leases of this package exclude each other by.
const (
	touchesPower = "power"
	touchesPlace = "place"
)

// powered is the power state to go back to.
type powered struct {
	Power machine.PowerState `json:"power"`
}

// planPower plans what needs a VM that is on.
func planPower(does string) func(context.Context, *fault.Call) (powered, string, error) {
	return func(ctx context.Context, c *fault.Call) (before powered, _ string, _ error) {
		err := machine.On(ctx, c, func(_ context.Context, vm *machine.VM) error {
			before.Power = vm.Runtime.PowerState
			return vm.Running()
		})
		return before, does, err
	}
}

// toPower brings the target into a power state.
func toPower(want machine.PowerState) func(context.Context, *fault.Call, *powered) error {
	return func(ctx context.Context, c *fault.Call, _ *powered) error {
		return machine.On(ctx, c, func(ctx context.Context, vm *machine.VM) error { return vm.Power(ctx, want) })
	}
}

// revertPower brings the target back into the power state that it had.
func revertPower(ctx context.Context, c *fault.Call, s *powered) error {
	return machine.Still(ctx, c, func(ctx context.Context, vm *machine.VM) error { return vm.Power(ctx, s.Power) })
}

func powerOff() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "vm.power-off", Object: fault.VM, Touches: touchesPower,
		Short: "powers VMs off, as pulling the plug does",
		Long: "The guest has no time to say goodbye: its kubelet ends, hostname and addresses vanish from vSphere, and the heartbeat is gray. " +
			"Kubernetes finds the node not ready, and the cloud provider has it tainted node.cloudprovider.kubernetes.io/shutdown; " +
			"it must not be deleted. Healing powers the VM on.",
		Reported: []string{"cloud-provider-vsphere#207", "cloud-provider-vsphere#185"},
	}, fault.Steps[powered]{
		Plan: planPower("power off (is on)"), Apply: toPower(machine.PoweredOff), Revert: revertPower,
	})
}

func suspend() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "vm.suspend", Object: fault.VM, Touches: touchesPower,
		Short: "suspends VMs: their guests stand still, and report nothing",
		Long: "To Kubernetes it is like a node that hangs; to vSphere the VM is neither on nor off, and cloud providers differ in what " +
			"they take that for. Healing resumes it: the guest goes on where it stopped, without a boot.",
	}, fault.Steps[powered]{
		Plan: planPower("suspend (is on)"), Apply: toPower(machine.Suspended), Revert: revertPower,
	})
}
