package storage

import (
	"context"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vsphere"
)

func attachRefused() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "disk.attach-refused",
		Short: "refuses to attach disks to VMs",
		Long: `Attaching a volume or adding a disk ends in a fault: file-locked is a disk that another VM holds, no-free-slot a VM with all
its SCSI slots taken, invalid-state what vCenter says of nearly everything else. Disks that are attached stay.`,
		Object: fault.VM, Needs: []fault.Need{fault.Simulator}, Touches: "disks",
		Params: []fault.Param{{
			Name: "answer", Short: "what the attachment ends in", Type: fault.Text, Default: "file-locked",
			Choices: []string{"file-locked", "no-free-slot", "invalid-state"},
		}},
		Reported: []string{"vsphere-csi-driver#1175", "vsphere-csi-driver#468", "vsphere-csi-driver#1590"},
	}, fault.Steps[struct{}]{
		Plan: func(ctx context.Context, c *fault.Call) (none struct{}, _ string, _ error) {
			ep, err := vsphere.At(c)
			if err != nil {
				return none, "", err
			}
			var vm mo.VirtualMachine
			if err := vsphere.Get(ctx, ep, c.Target.Ref, &vm, "name"); err != nil {
				return none, "", err
			}
			return none, "refuse to attach disks: " + c.Params.Text("answer"), accepts(c, ep)
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *struct{}) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			defer vsphere.Causing(c, ep, c.Target.Ref)()
			return ep.Sim.RefuseDisks(ctx, c.Target.Ref, answer(c.Params.Text("answer")), nil)
		},
		Revert: func(ctx context.Context, c *fault.Call, _ *struct{}) error { return acceptDisks(ctx, c) },
	})
}

// answer is the fault that an attachment ends in.
func answer(name string) types.BaseMethodFault {
	switch name {
	case "no-free-slot":
		return &types.TooManyDevices{InvalidVmConfig: types.InvalidVmConfig{Property: "deviceChange[0].device"}}
	case "invalid-state":
		return new(types.InvalidState)
	default:
		return new(types.FileLocked)
	}
}

// acceptDisks lets disks of the target be changed again.
func acceptDisks(ctx context.Context, c *fault.Call) error {
	ep, err := vsphere.At(c)
	if err != nil {
		return err
	}
	var vm mo.VirtualMachine
	if err := vsphere.Get(ctx, ep, c.Target.Ref, &vm, "name"); vsphere.Gone(err) {
		return nil
	} else if err != nil {
		return err
	}
	defer vsphere.Causing(c, ep, c.Target.Ref)()
	return ep.Sim.RefuseDisks(ctx, c.Target.Ref, nil, nil)
}
