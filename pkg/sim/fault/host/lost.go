package host

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/sync/errgroup"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vsphere"
)

// lost is a host that is down or unreachable, with the VMs that ran on it.
type lost struct {
	VCenter string      `json:"vcenter"`
	Name    string      `json:"name"`
	Ref     vsphere.Ref `json:"ref"`
	// VMs were on. Revert powers on those that died with the host, unless they run elsewhere.
	VMs []vsphere.Ref `json:"vms,omitempty"`
}

// look reads a host and its VMs that are on.
func look(ctx context.Context, ep *fault.Endpoint, ref vsphere.Ref) (h mo.HostSystem, on []mo.VirtualMachine, err error) {
	if err := vsphere.Get(ctx, ep, ref, &h, "name", "runtime", "vm", "parent"); err != nil {
		return h, nil, err
	}
	var vms []mo.VirtualMachine
	if err := vsphere.GetAll(ctx, ep, h.Vm, &vms, "name", "runtime", "datastore"); err != nil {
		return h, nil, err
	}
	for _, vm := range vms {
		if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
			on = append(on, vm)
		}
	}
	return h, on, nil
}

func note(ep *fault.Endpoint, h mo.HostSystem, on []mo.VirtualMachine) lost {
	l := lost{VCenter: ep.Name, Name: h.Name, Ref: h.Self}
	for _, vm := range on {
		l.VMs = append(l.VMs, vm.Self)
	}
	return l
}

// inOrder refuses a host that is not connected and powered on.
func inOrder(h mo.HostSystem) error {
	if s := h.Runtime.ConnectionState; s != types.HostSystemConnectionStateConnected {
		return fault.Refuse("host %q: is not connected, but %s", h.Name, s)
	}
	return nil
}

// bring restores the host and starts the VMs that ran on it.
func (l *lost) bring(ctx context.Context, c *fault.Call) error {
	ep, err := vsphere.Named(c, l.VCenter)
	if err != nil {
		return err
	}
	var h mo.HostSystem
	if err := vsphere.Get(ctx, ep, l.Ref, &h, "runtime"); vsphere.IsGone(err) {
		return nil
	} else if err != nil {
		return err
	}
	if h.Runtime.ConnectionState != types.HostSystemConnectionStateConnected {
		release := vsphere.Causing(c, ep, l.Ref)
		err := ep.Sim.Hosts().Recover(ctx, l.Ref)
		release()
		if err != nil && h.Runtime.ConnectionState == types.HostSystemConnectionStateNotResponding {
			return err
		}
	}
	var g errgroup.Group
	g.SetLimit(8)
	for _, vm := range l.VMs {
		g.Go(func() error { return l.start(ctx, c, ep, vm) })
	}
	return g.Wait()
}

// start powers on a VM that was on, unless it has left the host.
func (l *lost) start(ctx context.Context, c *fault.Call, ep *fault.Endpoint, ref vsphere.Ref) error {
	var vm mo.VirtualMachine
	if err := vsphere.Get(ctx, ep, ref, &vm, "name", "runtime"); vsphere.IsGone(err) {
		return nil
	} else if err != nil {
		return err
	}
	if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff || vm.Runtime.Host == nil || *vm.Runtime.Host != l.Ref {
		return nil
	}
	if err := vsphere.PowerOn(ctx, c, ep, ref); err != nil && !vsphere.IsGone(err) {
		return fmt.Errorf("vm %q: power on: %w", vm.Name, err)
	}
	return nil
}

// count formats a number of VMs: "1 VM", "3 VMs".
func count(n int) string {
	if n == 1 {
		return "1 VM"
	}
	return fmt.Sprintf("%d VMs", n)
}

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
		`vCenter keeps a VM that it cannot find on its host. It does not say that the VM is gone, and no client may take it for
gone. The node runs on.`)
}

// hidden returns a kind that shows a VM in a connection state.
func hidden(name string, state types.VirtualMachineConnectionState, short, long string) *fault.Kind {
	return fault.New(fault.Kind{
		Name: name, Short: short, Long: long,
		Object: fault.VM, Needs: []fault.Need{fault.Simulator}, Aspect: "connection",
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
			return ep.Sim.Hosts().Hide(ctx, c.Target.Ref, state)
		},
		Revert: func(ctx context.Context, c *fault.Call, _ *struct{}) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			var vm mo.VirtualMachine
			if err := vsphere.Get(ctx, ep, c.Target.Ref, &vm, "runtime"); vsphere.IsGone(err) {
				return nil
			} else if err != nil {
				return err
			}
			defer vsphere.Causing(c, ep, c.Target.Ref)()
			return ep.Sim.Hosts().Show(ctx, c.Target.Ref)
		},
	})
}
