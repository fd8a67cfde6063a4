package storage

import (
	"context"
	"fmt"

	vimfault "github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vsphere"
)

func leftOnDeadVM() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "disk.left-on-dead-vm",
		Short: "powers VMs off and leaves their disks locked to them",
		Long: `Detaching a volume or removing a disk ends in InvalidState, and so its pods cannot start elsewhere: what is left of a node
that died in the midst of something. Healing lets go of the disks and powers the VM on.`,
		Object: fault.VM, Needs: []fault.Need{fault.Simulator}, Touches: "power",
		Reported: []string{"vsphere-csi-driver#221", "vsphere-csi-driver#359", "vsphere-csi-driver#1590"},
	}, fault.Steps[struct{}]{
		Plan: func(ctx context.Context, c *fault.Call) (none struct{}, _ string, _ error) {
			ep, err := vsphere.At(c)
			if err != nil {
				return none, "", err
			}
			vm, disks, err := disksOf(ctx, ep, c.Target.Ref)
			if err != nil {
				return none, "", err
			}
			if s := vm.Runtime.ConnectionState; s != types.VirtualMachineConnectionStateConnected {
				return none, "", fault.Refuse("vm %q: is not connected, but %s", vm.Name, s)
			}
			if s := vm.Runtime.PowerState; s != types.VirtualMachinePowerStatePoweredOn {
				return none, "", fault.Refuse("vm %q: is not on, but %s", vm.Name, s)
			}
			return none, fmt.Sprintf("power off (is on), with %s locked to it", shorten.Count(len(disks), "disk")), accepts(c, ep)
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *struct{}) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			defer vsphere.Causing(c, ep, c.Target.Ref)()
			if err := ep.Sim.RefuseDisks(ctx, c.Target.Ref, new(types.FileLocked), new(types.InvalidState)); err != nil {
				return err
			}
			err = vsphere.Run(ctx, ep, func(ctx context.Context, vc *vim25.Client) (*object.Task, error) {
				return object.NewVirtualMachine(vc, c.Target.Ref).PowerOff(ctx)
			})
			if vimfault.Is(err, new(types.InvalidPowerState)) {
				return nil // off by somebody else's doing
			}
			return err
		},
		Revert: func(ctx context.Context, c *fault.Call, _ *struct{}) error {
			if err := acceptDisks(ctx, c); err != nil {
				return err
			}
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
			if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff {
				return nil
			}
			if err := vsphere.PowerOn(ctx, c, ep, c.Target.Ref); err != nil && !vsphere.Gone(err) {
				return err
			}
			return nil
		},
	})
}
