package host

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vsphere"
)

func vmDisconnected() *fault.Kind {
	return hidden("vm.disconnected", types.VirtualMachineConnectionStateDisconnected,
		"shows VMs as disconnected, while nothing is wrong with their hosts",
		`vCenter knows the last that it saw of the VM, and refuses to change it. The node runs on.`)
}

func vmInaccessible() *fault.Kind {
	return hidden("vm.inaccessible", types.VirtualMachineConnectionStateInaccessible,
		"shows VMs as inaccessible, as when vCenter cannot read their configuration",
		`vCenter shows what it knew, and refuses to change the VM. The node runs on.`)
}

func vmOrphaned() *fault.Kind {
	return hidden("vm.orphaned", types.VirtualMachineConnectionStateOrphaned,
		"makes VMs unknown to their hosts, as when they are deleted there behind vCenter's back",
		`vCenter keeps a VM that it cannot find on its host. It does not say that the VM is gone, and nobody should take it for
gone. The node runs on.`)
}

// hidden makes a kind that shows a VM in a connection state.
func hidden(name string, state types.VirtualMachineConnectionState, short, long string) *fault.Kind {
	return fault.New(fault.Kind{
		Name: name, Short: short, Long: long,
		Object: fault.VM, Needs: []fault.Need{fault.Simulator}, Touches: "connection",
	}, fault.Steps[struct{}]{
		Plan: func(ctx context.Context, c *fault.Call) (none struct{}, _ string, _ error) {
			ep, err := vsphere.At(c)
			if err != nil {
				return none, "", err
			}
			var vm mo.VirtualMachine
			if err := vsphere.Get(ctx, ep, c.Target.Ref, &vm, "runtime"); err != nil {
				return none, "", err
			}
			if s := vm.Runtime.ConnectionState; s != types.VirtualMachineConnectionStateConnected {
				return none, "", fault.Refuse("vm %q: is not connected, but %s", c.Target.Name, s)
			}
			return none, fmt.Sprintf("show as %s (is connected)", state), nil
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *struct{}) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			defer vsphere.Causing(c, ep, c.Target.Ref)()
			return ep.Sim.HideVM(ctx, c.Target.Ref, state)
		},
		Revert: func(ctx context.Context, c *fault.Call, _ *struct{}) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			var vm mo.VirtualMachine
			if err := vsphere.Get(ctx, ep, c.Target.Ref, &vm, "runtime"); vsphere.Gone(err) {
				return nil
			} else if err != nil {
				return err
			}
			defer vsphere.Causing(c, ep, c.Target.Ref)()
			return ep.Sim.ShowVM(ctx, c.Target.Ref)
		},
	})
}
