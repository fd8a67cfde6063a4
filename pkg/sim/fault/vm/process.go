package vm

import (
	"context"
	"errors"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/machine"
)

// nothing is the state of what remembers none.
type nothing struct{}

// planNode plans what is done to the process that is the VM's node, if nothing is wrong with that.
func planNode(does string, wrong func(*fault.Call) error) func(context.Context, *fault.Call) (nothing, string, error) {
	return func(ctx context.Context, c *fault.Call) (nothing, string, error) {
		err := machine.On(ctx, c, func(_ context.Context, vm *machine.VM) error {
			if err := vm.Running(); err != nil {
				return err
			}
			if c.Target.Node == "" {
				return fault.Refuse("vm %s: is no node: nothing runs in it that could be reached", vm.Name)
			}
			if err := wrong(c); err != nil {
				return fault.Refuse("vm %s: %v", vm.Name, err)
			}
			return nil
		})
		return nothing{}, does, err
	}
}

func process(c *fault.Call) string { return kubelet(c.Target) }

// kubelet is the component that a VM's process is, which can be reached through its Node, too.
func kubelet(vm fault.Item) string {
	if vm.Node == "" {
		return ""
	}
	return "node/" + vm.Node
}

// unlessOff is the error of putting a process right: there may be none to put right, when its VM is not on.
func unlessOff(ctx context.Context, c *fault.Call, failed error) error {
	if failed == nil {
		return nil
	}
	return machine.Still(ctx, c, func(_ context.Context, vm *machine.VM) error {
		if vm.Runtime.PowerState != machine.PoweredOn || vm.Config.Template {
			return nil
		}
		return failed
	})
}

func hang() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "vm.hang", Object: fault.VM, Needs: []fault.Need{fault.Kubelets}, Touches: "process", Component: kubelet,
		Short: "has guests stand still, while vSphere sees nothing of it",
		Long: "The kubelet stops where it is, as in a kernel that waits for a disk for ever. vSphere says that the VM is on and reports its addresses as " +
			"before. Kubernetes finds the node not ready; the cloud provider has no reason to taint it as shut down, nor to delete it. " +
			"Healing lets the kubelet go on.",
	}, fault.Steps[nothing]{
		Plan:  planNode("stop the node where it stands", func(c *fault.Call) error { return c.Ground.Processes.Running(process(c)) }),
		Apply: func(_ context.Context, c *fault.Call, _ *nothing) error { return c.Ground.Processes.Pause(process(c)) },
		Revert: func(ctx context.Context, c *fault.Call, _ *nothing) error {
			return unlessOff(ctx, c, c.Ground.Processes.Resume(process(c)))
		},
	})
}

func networkLoss() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "vm.network-loss", Object: fault.VM, Needs: []fault.Need{fault.Kubelets}, Touches: "network", Component: kubelet,
		Short: "cuts the network of VMs: their nodes do not reach the API server",
		Long: "VMware Tools speak through the hypervisor and not the network, so vSphere goes on reporting the guest. " +
			"Kubernetes finds the node not ready. Healing mends the network.",
		Params: []fault.Param{{Name: "silent", Short: "packets vanish; otherwise connections are reset", Type: fault.Bool, Default: "true"}},
	}, fault.Steps[nothing]{
		Plan: planNode("cut the way to the API server", func(c *fault.Call) error {
			if c.Ground.Processes.Replicas(process(c)) == 0 { // one that starts again meanwhile will do
				return errors.New("its guest runs no kubelet now")
			}
			return nil
		}),
		Apply: func(_ context.Context, c *fault.Call, _ *nothing) error {
			return c.Ground.Processes.Cut(process(c), c.Params.Bool("silent"))
		},
		Revert: func(ctx context.Context, c *fault.Call, _ *nothing) error {
			return unlessOff(ctx, c, c.Ground.Processes.Mend(process(c)))
		},
	})
}
