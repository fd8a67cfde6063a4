package vm

import (
	"context"
	"errors"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vms"
)

// nothing is an empty state.
type nothing struct{}

// planNode plans a change to the process that is the VM's node; wrong returns a reason to refuse.
func planNode(does string, wrong func(*fault.Call) error) func(context.Context, *fault.Call) (nothing, string, error) {
	return func(ctx context.Context, c *fault.Call) (nothing, string, error) {
		err := vms.On(ctx, c, func(_ context.Context, vm *vms.VM) error {
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

// kubelet returns the component of a VM's process, which can also be reached through its Node.
func kubelet(vm fault.Item) string {
	if vm.Node == "" {
		return ""
	}
	return "node/" + vm.Node
}

// unlessOff ignores an error if the VM is not on, because its node has no process then.
func unlessOff(ctx context.Context, c *fault.Call, failed error) error {
	if failed == nil {
		return nil
	}
	return vms.OnExisting(ctx, c, func(_ context.Context, vm *vms.VM) error {
		if vm.Runtime.PowerState != vms.PoweredOn || vm.Config.Template {
			return nil
		}
		return failed
	})
}

func hang() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "vm.hang", Object: fault.VM, Needs: []fault.Need{fault.Kubelets}, Aspect: "process", Component: kubelet,
		Short: "has guests stand still, while vSphere sees nothing of it",
		Long: "The kubelet stops where it is, as in a kernel that waits for a disk for ever. vSphere says that the VM is on and reports its addresses as " +
			"before. Kubernetes finds the node not ready; the cloud provider has no reason to taint it as shut down, nor to delete it. " +
			"Healing resumes the kubelet.",
	}, fault.Steps[nothing]{
		Plan: planNode("stop the node where it stands", func(c *fault.Call) error { return c.Ground.Processes.Running(process(c)) }),
		Apply: func(ctx context.Context, c *fault.Call, _ *nothing) error {
			return c.Ground.Processes.Pause(ctx, process(c))
		},
		Revert: func(ctx context.Context, c *fault.Call, _ *nothing) error {
			return unlessOff(ctx, c, c.Ground.Processes.Resume(ctx, process(c)))
		},
	})
}

func networkLoss() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "vm.network-loss", Object: fault.VM, Needs: []fault.Need{fault.Kubelets}, Aspect: "network", Component: kubelet,
		Short: "cuts the network of VMs: their nodes do not reach the API server",
		Long: "VMware Tools speak through the hypervisor and not the network, so vSphere continues to report the guest. " +
			"Kubernetes finds the node not ready. Healing mends the network.",
		Params: []fault.Param{{Name: "silent", Short: "packets vanish; otherwise connections are reset", Type: fault.Bool, Default: "true"}},
	}, fault.Steps[nothing]{
		Plan: planNode("cut the way to the API server", func(c *fault.Call) error {
			if c.Ground.Processes.Replicas(process(c)) == 0 { // a restarted one has the right state already
				return errors.New("its guest runs no kubelet now")
			}
			return nil
		}),
		Apply: func(_ context.Context, c *fault.Call, _ *nothing) error {
			return c.Ground.Processes.Cut(process(c), c.Params.Bool("silent"))
		},
		Revert: func(ctx context.Context, c *fault.Call, _ *nothing) error {
			return unlessOff(ctx, c, c.Ground.Processes.Restore(process(c)))
		},
	})
}
