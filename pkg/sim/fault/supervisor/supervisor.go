package supervisor

import (
	"context"
	"fmt"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// Kinds returns the kinds of this package.
func Kinds() []*fault.Kind {
	return []*fault.Kind{
		down(), slow(), hung(), forbidden(), tokenExpired(), tokenRotated(), operatorStopped(), poolEmpty(), machineDeleted(),
	}
}

type nothing struct{}

// of completes a kind: it happens to the sandbox's Supervisor.
func of(k fault.Kind, does func(fault.Values) string, apply, revert func(context.Context, *fault.Call, fault.Supervisor) error) *fault.Kind {
	k.Object, k.Needs = fault.Sandbox, []fault.Need{fault.Supervised}
	steps := fault.Steps[nothing]{
		Plan: func(_ context.Context, c *fault.Call) (s nothing, _ string, err error) {
			_, err = target(c)
			return s, does(c.Params), err
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *nothing) error {
			s, err := target(c)
			if err != nil {
				return err
			}
			return apply(ctx, c, s)
		},
	}
	if revert != nil {
		steps.Revert = func(ctx context.Context, c *fault.Call, _ *nothing) error {
			s, err := target(c)
			if err != nil {
				return nil //nolint:nilerr // it has ended, and the fault with it
			}
			return revert(ctx, c, s)
		}
	}
	return fault.New(k, steps)
}

func target(c *fault.Call) (fault.Supervisor, error) {
	s := c.Ground.Supervisor
	if s == nil || s.Gate() == nil {
		return nil, &fault.Refusal{Code: "not-found", Message: "the sandbox has no Supervisor", Try: "vsphere-sandbox up supervisor"}
	}
	return s, nil
}

func says(text string) func(fault.Values) string { return func(fault.Values) string { return text } }

// ruled is a kind that is a rule of the Supervisor's gate.
func ruled(k fault.Kind, does func(fault.Values) string, act func(fault.Values) gate.Action) *fault.Kind {
	k.Aspect = "api"
	return of(k, does,
		func(_ context.Context, c *fault.Call, s fault.Supervisor) error {
			_, err := s.Gate().Add(gate.Rule{Name: c.Lease, Action: act(c.Params), Seed: c.Rand.Uint64()})
			return err
		},
		func(ctx context.Context, c *fault.Call, s fault.Supervisor) error {
			for _, r := range s.Gate().Rules() {
				if r.Rule.Name == c.Lease {
					if err := s.Gate().Remove(ctx, r.ID); err != nil {
						return err
					}
				}
			}
			return nil
		})
}

func down() *fault.Kind {
	return ruled(fault.Kind{
		Name:  "supervisor.down",
		Short: "takes the Supervisor's API away: connections are cut, new ones refused",
		Long: "As in an upgrade of the Supervisor. VMs run on, and VM Operator continues. No Node of the guest cluster may be deleted or called shut down: " +
			"the state of its VM is unknown. Services keep their addresses.",
	}, says("the Supervisor's API is not there"), func(fault.Values) gate.Action { return gate.Outage{} })
}

func hung() *fault.Kind {
	return ruled(fault.Kind{
		Name:  "supervisor.hung",
		Short: "has the Supervisor's API take calls and not answer",
		Long:  "Connections are made, and nothing is answered until the fault heals. Clients wait until they lose patience; a watch that runs gets no more changes.",
	}, says("the Supervisor's API answers nothing"), func(fault.Values) gate.Action { return gate.Hang{} })
}

func slow() *fault.Kind {
	return ruled(fault.Kind{
		Name:   "supervisor.slow",
		Short:  "has every call to the Supervisor's API take longer",
		Long:   "A call waits before it is passed on; a watch starts later and is as quick as before.",
		Params: []fault.Param{{Name: "latency", Short: "how much longer a call takes", Type: fault.Duration, Default: "2s"}},
	}, func(v fault.Values) string {
		return fmt.Sprintf("every call to the Supervisor takes %s longer", v.Duration("latency"))
	},
		func(v fault.Values) gate.Action {
			return gate.Latency{Delay: max(v.Duration("latency"), time.Nanosecond)}
		})
}

func forbidden() *fault.Kind {
	return of(fault.Kind{
		Name: "supervisor.forbidden", Aspect: "rights",
		Short: "takes the guest cluster's rights on the Supervisor away",
		Long: "The RoleBinding of the guest cluster's account is deleted, as by an add-on controller that was half upgraded. Every further call is 403, Forbidden; " +
			"a watch that runs is not ended. Healing creates it again.",
	}, says("the guest cluster's account has no rights"),
		func(ctx context.Context, _ *fault.Call, s fault.Supervisor) error { return s.Forbid(ctx) },
		func(ctx context.Context, _ *fault.Call, s fault.Supervisor) error { return s.Permit(ctx) })
}

func tokenExpired() *fault.Kind {
	return of(fault.Kind{
		Name: "supervisor.token-expired", Aspect: "token",
		Short: "makes the guest cluster's token invalid, without a new one",
		Long: "Every call with it is 401, Unauthorized, as when nothing renews the token in time. Healing writes a new one to the Secret and to the mounted " +
			"folder: a client that read its token once has to start again.",
		Reported: []string{"cloud-provider-vsphere#786"},
	}, says("the guest cluster's token is invalid"),
		func(ctx context.Context, _ *fault.Call, s fault.Supervisor) error { return s.ExpireTokens(ctx) },
		func(ctx context.Context, _ *fault.Call, s fault.Supervisor) error { return s.RenewTokens(ctx) })
}

func tokenRotated() *fault.Kind {
	return of(fault.Kind{
		Name: "supervisor.token-rotated", Aspect: "token", Momentary: true,
		Short:    "writes a new token of the guest cluster; the old one stays valid",
		Long:     "The Secret changes, and the folder that it is mounted in, as by kubelet: in one step, through the link ..data.",
		Reported: []string{"cloud-provider-vsphere#786"},
	}, says("write a new token"), func(ctx context.Context, _ *fault.Call, s fault.Supervisor) error { return s.RotateTokens(ctx) }, nil)
}

func operatorStopped() *fault.Kind {
	return of(fault.Kind{
		Name: "supervisor.operator-stopped", Aspect: "operator",
		Short: "stops the Supervisor's controllers: no status changes any more",
		Long: "VM Operator and the controllers of the network stand still. The API answers, with a state that gets older: a VM that is powered off in vSphere stays " +
			"PoweredOn, a new VirtualMachineService gets no address, a deleted VirtualMachine stays with its finalizer.",
	}, says("no status of the Supervisor changes"),
		func(_ context.Context, _ *fault.Call, s fault.Supervisor) error { s.SetOperator(false); return nil },
		func(_ context.Context, _ *fault.Call, s fault.Supervisor) error { s.SetOperator(true); return nil })
}

func poolEmpty() *fault.Kind {
	return of(fault.Kind{
		Name: "supervisor.pool-empty", Aspect: "pool",
		Short: "leaves the Supervisor's load balancer without a free address",
		Long:  "Services keep the addresses that they have. A new VirtualMachineService has none, and an Event that says why.",
	}, says("no address is free"),
		func(_ context.Context, _ *fault.Call, s fault.Supervisor) error { s.SetPoolEmpty(true); return nil },
		func(_ context.Context, _ *fault.Call, s fault.Supervisor) error { s.SetPoolEmpty(false); return nil })
}

func machineDeleted() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "supervisor.machine-deleted", Object: fault.VM, Needs: []fault.Need{fault.Supervised}, Aspect: "machine", Momentary: true,
		Short: "deletes the VirtualMachine of a VM behind the guest cluster's back",
		Long:  "VM Operator destroys the VM. The Node is left, and the cloud provider of the guest cluster has to find out that its machine does not exist any more.",
	}, fault.Steps[nothing]{
		Plan: func(ctx context.Context, c *fault.Call) (n nothing, does string, err error) {
			s, err := target(c)
			if err != nil {
				return n, "", err
			}
			if found, err := s.HasMachine(ctx, c.Target.Name); err != nil || !found {
				if err == nil {
					err = fault.Refuse("VM %q: has no VirtualMachine", c.Target.Name)
				}
				return n, "", err
			}
			return n, "delete its VirtualMachine", nil
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *nothing) error {
			s, err := target(c)
			if err != nil {
				return err
			}
			c.Note("machine.deleted", event.Warning, "the VirtualMachine %s was deleted", c.Target.Name)
			return s.DeleteMachine(ctx, c.Target.Name)
		},
	})
}
