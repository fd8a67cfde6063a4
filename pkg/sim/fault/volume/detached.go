package volume

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// slot is where a volume was on a VM.
type slot struct {
	VM         types.ManagedObjectReference `json:"vm"`
	Name       string                       `json:"name"`
	Controller int32                        `json:"controller"`
	Unit       int32                        `json:"unit"`
}

func detached() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "volume.detached",
		Short: "takes volumes off their VMs behind Kubernetes' back",
		Long: `As an administrator does who removes the disk in vCenter: Kubernetes takes the volume for attached, and in the pod nothing can be
read or written any more. csi-attacher notices when it next compares, and attaches it again. Healing attaches it where it was, unless it
is on a VM by then. See disk.detached for disks that are no volumes.`,
		Object: fault.Volume, Needs: []fault.Need{fault.Simulator}, Touches: "attachment",
		Reported: []string{"vsphere-csi-driver#2787", "vsphere-csi-driver#92"},
	}, fault.Steps[slot]{
		Plan: func(_ context.Context, c *fault.Call) (s slot, does string, err error) {
			_, v, known, err := target(c)
			switch {
			case err != nil:
				return s, "", err
			case !known:
				return s, "", lost(c)
			case v.VM.Value == "":
				return s, "", fault.Refuse("volume %q: is attached to no VM", c.Target.Name)
			}
			return slot{v.VM, v.VMName, v.Controller, v.Unit}, "take off VM " + v.VMName, nil
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *slot) error {
			ep, _, _, err := target(c)
			if err != nil {
				return err
			}
			defer ep.Sim.CausingVolume(c.Target.ID, c.Seq)()
			return ep.Sim.DetachVolume(ctx, c.Target.ID)
		},
		Revert: func(ctx context.Context, c *fault.Call, s *slot) error {
			ep, v, known, err := target(c)
			if err != nil || !known || v.VM.Value != "" {
				return err
			}
			defer ep.Sim.CausingVolume(c.Target.ID, c.Seq)()
			return s.attach(ctx, ep, v)
		},
	})
}

// attach puts the volume where it was. On a VM, or without the VM, it is left as it is.
func (s *slot) attach(ctx context.Context, ep *fault.Endpoint, v sim.Volume) error {
	spec := cnstypes.CnsVolumeAttachDetachSpec{
		VolumeId: cnstypes.CnsVolumeId{Id: v.ID}, Vm: s.VM, ControllerKey: &s.Controller, UnitNumber: &s.Unit,
	}
	var result cnstypes.BaseCnsVolumeOperationResult
	err := ep.SOAP(ctx, func(ctx context.Context, vc *vim25.Client) error {
		client, err := cns.NewClient(ctx, vc)
		if err != nil {
			return err
		}
		task, err := client.AttachVolume(ctx, []cnstypes.CnsVolumeAttachDetachSpec{spec})
		if err != nil {
			return err
		}
		// The client for tasks is that of vim25, not of CNS.
		info, err := object.NewTask(vc, task.Reference()).WaitForResult(ctx)
		if err != nil {
			return err
		}
		result, err = cns.GetTaskResult(ctx, info)
		return err
	})
	if err != nil {
		return err
	}
	if result == nil {
		return fmt.Errorf("volume %s: its attachment has no result", v.Name)
	}
	f := result.GetCnsVolumeOperationResult().Fault
	if f == nil {
		return nil
	}
	switch f.Fault.(type) {
	case *types.ResourceInUse, *types.ManagedObjectNotFound:
		return nil
	}
	return fmt.Errorf("volume %s: attach to VM %s: %w", v.Name, s.Name, soap.WrapVimFault(f.Fault))
}
