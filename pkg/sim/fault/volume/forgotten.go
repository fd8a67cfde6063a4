package volume

import (
	"context"

	vimfault "github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

func forgotten() *fault.Kind {
	type nothing struct{}
	return fault.New(fault.Kind{
		Name:  "volume.forgotten",
		Short: "has CNS lose its record of volumes, whose disks stay",
		Long: `As when the database of a vCenter is restored from before a volume was made, or when storage vMotion moved the disk. Pods that
run with it run on; it cannot be attached, detached, extended or deleted any more, because CNS has no such volume.
Healing gives CNS the record back, as its registration anew would. A volume whose disk is gone by then stays lost.`,
		Object: fault.Volume, Needs: []fault.Need{fault.Simulator}, Touches: "record",
		Reported: []string{"vsphere-csi-driver#313", "vsphere-csi-driver#365", "vsphere-csi-driver#565", "vsphere-csi-driver#2478"},
	}, fault.Steps[nothing]{
		Plan: func(_ context.Context, c *fault.Call) (none nothing, _ string, _ error) {
			_, v, known, err := target(c)
			switch {
			case err != nil:
				return none, "", err
			case !known:
				return none, "", lost(c)
			case v.File:
				return none, "", fault.Refuse("volume %q: is a file share", c.Target.Name)
			}
			return none, "drop its record; its disk " + v.Path + " stays", nil
		},
		Apply: func(_ context.Context, c *fault.Call, _ *nothing) error {
			ep, _, _, err := target(c)
			if err != nil {
				return err
			}
			defer ep.Sim.CausingVolume(c.Target.ID, c.Seq)()
			return ep.Sim.ForgetVolume(c.Target.ID)
		},
		Revert: func(_ context.Context, c *fault.Call, _ *nothing) error {
			ep, _, known, err := target(c)
			if err != nil || known {
				return err
			}
			defer ep.Sim.CausingVolume(c.Target.ID, c.Seq)()
			if err := ep.Sim.RecallVolume(c.Target.ID); !vimfault.Is(err, new(types.NotFound)) {
				return err
			}
			return nil
		},
	})
}
