package vm

import (
	"context"
	"fmt"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vms"
)

// The aspects by which leases of this package exclude each other.
const (
	touchesPower = "power"
	touchesPlace = "place"
)

// powered is the original power state.
type powered struct {
	Power vms.PowerState `json:"power"`
}

// planPower plans what needs a running VM.
func planPower(does string) func(context.Context, *fault.Call) (powered, string, error) {
	return func(ctx context.Context, c *fault.Call) (before powered, _ string, _ error) {
		err := vms.On(ctx, c, func(_ context.Context, vm *vms.VM) error {
			before.Power = vm.Runtime.PowerState
			return vm.Running()
		})
		return before, does, err
	}
}

// toPower brings the target into a power state.
func toPower(want vms.PowerState) func(context.Context, *fault.Call, *powered) error {
	return func(ctx context.Context, c *fault.Call, _ *powered) error {
		return vms.On(ctx, c, func(ctx context.Context, vm *vms.VM) error { return vm.Power(ctx, want) })
	}
}

// revertPower restores the original power state.
func revertPower(ctx context.Context, c *fault.Call, s *powered) error {
	return vms.OnExisting(ctx, c, func(ctx context.Context, vm *vms.VM) error { return vm.Power(ctx, s.Power) })
}

func powerOff() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "vm.power-off", Object: fault.VM, Aspect: touchesPower,
		Short: "powers VMs off, as pulling the plug does",
		Long: "The guest has no time to say goodbye: its kubelet ends, hostname and addresses vanish from vSphere, and the heartbeat is gray. " +
			"Kubernetes finds the node not ready, and the cloud provider has it tainted node.cloudprovider.kubernetes.io/shutdown; " +
			"it must not be deleted. Healing powers the VM on.",
		Reported: []string{"cloud-provider-vsphere#207", "cloud-provider-vsphere#185"},
	}, fault.Steps[powered]{
		Plan: planPower("power off (is on)"), Apply: toPower(vms.PoweredOff), Revert: revertPower,
	})
}

func suspend() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "vm.suspend", Object: fault.VM, Aspect: touchesPower,
		Short: "suspends VMs: their guests stand still, and report nothing",
		Long: "To Kubernetes it is like a node that hangs; to vSphere the VM is neither on nor off, and cloud providers differ in what " +
			"they take that for. Healing resumes it: the guest continues where it stopped, without a boot.",
	}, fault.Steps[powered]{
		Plan: planPower("suspend (is on)"), Apply: toPower(vms.Suspended), Revert: revertPower,
	})
}

func resetNow(ctx context.Context, c *fault.Call) error {
	return vms.On(ctx, c, func(ctx context.Context, vm *vms.VM) error {
		t, err := vm.Reset(ctx)
		return vms.WaitTask(ctx, t, err)
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
		Name: "vm.crash-loop", Object: fault.VM, Aspect: touchesPower,
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

// shuttingDown is the original power state and the progress of the shutdown.
type shuttingDown struct {
	powered
	Asked bool `json:"asked,omitempty"`
	Off   bool `json:"off,omitempty"`
}

func guestShutdown() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "vm.guest-shutdown", Object: fault.VM, Aspect: touchesPower,
		Short:    "asks guests to shut down, through VMware Tools",
		Long:     "The VM is off when the guest has done so. Refused where VMware Tools do not run: the guest would not get the request. Healing powers the VM on.",
		Reported: []string{"cloud-provider-vsphere#207"},
	}, fault.Steps[shuttingDown]{
		Plan: func(ctx context.Context, c *fault.Call) (before shuttingDown, _ string, _ error) {
			err := vms.On(ctx, c, func(_ context.Context, vm *vms.VM) error {
				before.Power = vm.Runtime.PowerState
				if err := vm.Running(); err != nil {
					return err
				}
				if vm.Guest == nil || vm.Guest.ToolsRunningStatus != string(types.VirtualMachineToolsRunningStatusGuestToolsRunning) {
					return fault.Refuse("vm %s: its guest cannot be asked: VMware Tools do not run", vm.Name)
				}
				return nil
			})
			return before, "ask the guest to shut down (is on)", err
		},
		Apply: func(ctx context.Context, c *fault.Call, s *shuttingDown) error {
			return vms.On(ctx, c, func(ctx context.Context, vm *vms.VM) error {
				s.Asked = true
				if err := vm.ShutdownGuest(ctx); err != nil {
					return err
				}
				err := vms.WaitError(ctx, vm.WaitForPowerState(ctx, vms.PoweredOff))
				s.Off = err == nil
				return err
			})
		},
		Revert: func(ctx context.Context, c *fault.Call, s *shuttingDown) error {
			return vms.OnExisting(ctx, c, func(ctx context.Context, vm *vms.VM) error {
				if s.Asked && !s.Off { // no Run has waited for it: it may be about to power off
					if err := vm.Power(ctx, vms.PoweredOff); err != nil {
						return err
					}
					s.Off = true
				}
				return vm.Power(ctx, s.Power)
			})
		},
	})
}

func slowBoot() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "vm.slow-boot", Object: fault.VM, Needs: []fault.Need{fault.Simulator}, Aspect: "boot",
		Short: "resets VMs whose guests then boot for longer than usual",
		Long: "Every boot takes so much longer, this one and further ones: the VM is on, but reports neither name nor addresses. " +
			"Healing has boots take as long as usual; a guest that is still at it begins again.",
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
			ep, err := vms.Endpoint(c)
			if err != nil {
				return err
			}
			if err := ep.Sim.Guests().Slow(c.Target.Ref, vms.LeaseName(c, "slow"), c.Params.Duration("by")); err != nil {
				return err
			}
			return resetNow(ctx, c)
		},
		Revert: func(_ context.Context, c *fault.Call, _ *nothing) error {
			ep, err := vms.Endpoint(c)
			if err != nil {
				return err
			}
			defer vms.Causing(ep, c, c.Target.Ref)()
			ep.Sim.Guests().Release(c.Target.Ref, vms.LeaseName(c, "slow"))
			return nil
		},
	})
}
