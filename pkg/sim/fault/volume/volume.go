package volume

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	vimfault "github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vsphere"
)

// slot is the place of a volume on a VM.
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
		Object: fault.Volume, Needs: []fault.Need{fault.Simulator}, Aspect: "attachment",
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
			defer ep.Sim.CNS().Causing(c.Target.ID, c.Seq)()
			return ep.Sim.DetachVolume(ctx, c.Target.ID)
		},
		Revert: func(ctx context.Context, c *fault.Call, s *slot) error {
			ep, v, known, err := target(c)
			if err != nil || !known || v.VM.Value != "" {
				return err
			}
			defer ep.Sim.CNS().Causing(c.Target.ID, c.Seq)()
			return s.attach(ctx, ep, v)
		},
	})
}

// attach attaches the volume in its place. It does nothing if the volume is on a VM, or if the VM is gone.
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
		// The client for tasks must be the one of vim25, not of CNS.
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

func forgotten() *fault.Kind {
	type nothing struct{}
	return fault.New(fault.Kind{
		Name:  "volume.forgotten",
		Short: "has CNS lose its record of volumes, whose disks stay",
		Long: `As when the database of a vCenter is restored from before a volume was made, or when storage vMotion moved the disk. Pods that
run with it run on; it cannot be attached, detached, extended or deleted any more, because CNS has no such volume.
Healing restores the record in CNS, as a new registration would. A volume whose disk is gone by then stays lost.`,
		Object: fault.Volume, Needs: []fault.Need{fault.Simulator}, Aspect: "record",
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
			defer ep.Sim.CNS().Causing(c.Target.ID, c.Seq)()
			return ep.Sim.CNS().Forget(c.Target.ID)
		},
		Revert: func(_ context.Context, c *fault.Call, _ *nothing) error {
			ep, _, known, err := target(c)
			if err != nil || known {
				return err
			}
			defer ep.Sim.CNS().Causing(c.Target.ID, c.Seq)()
			if err := ep.Sim.CNS().Restore(c.Target.ID); !vimfault.Is(err, new(types.NotFound)) {
				return err
			}
			return nil
		},
	})
}

// place is the original place of a volume.
type place struct {
	Datastore string `json:"datastore"`
}

func moved() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "volume.moved",
		Short: "moves volumes to another datastore behind Kubernetes' back",
		Long: `As an administrator or storage DRS does. Volumes that are attached move, too, if their VM's host reaches the datastore. The
PersistentVolume names the topology in which it was created: if only nodes of another zone reach the new datastore, Kubernetes does not learn of it.
Healing moves the volume back.`,
		Object: fault.Volume, Needs: []fault.Need{fault.Simulator}, Aspect: "datastore",
		Params:   []fault.Param{{Name: "datastore", Short: "the name of the datastore, in the same datacenter", Type: fault.Text, Required: true}},
		Reported: []string{"vsphere-csi-driver#641", "vsphere-csi-driver#1274", "vsphere-csi-driver#2744"},
	}, fault.Steps[place]{
		Plan: func(ctx context.Context, c *fault.Call) (p place, does string, err error) {
			_, v, known, err := target(c)
			if err == nil && !known {
				err = lost(c)
			}
			if err != nil {
				return p, "", err
			}
			to := c.Params.Text("datastore")
			if to == v.DatastoreName {
				return p, "", fault.Refuse("volume %q: is on datastore %s already", c.Target.Name, to)
			}
			if err := isDatastore(ctx, c, to); err != nil {
				return p, "", err
			}
			return place{v.DatastoreName}, fmt.Sprintf("move from datastore %s to %s", v.DatastoreName, to), nil
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *place) error {
			return move(ctx, c, c.Params.Text("datastore"))
		},
		Revert: func(ctx context.Context, c *fault.Call, p *place) error {
			if _, v, known, err := target(c); err != nil || !known || v.DatastoreName == p.Datastore {
				return err
			}
			return move(ctx, c, p.Datastore)
		},
	})
}

func move(ctx context.Context, c *fault.Call, datastore string) error {
	ep, _, _, err := target(c)
	if err != nil {
		return err
	}
	defer ep.Sim.CNS().Causing(c.Target.ID, c.Seq)()
	return ep.Sim.RelocateVolume(ctx, c.Target.ID, datastore)
}

// isDatastore refuses a name that no datastore of the vCenter has.
func isDatastore(ctx context.Context, c *fault.Call, name string) error {
	all, err := c.Ground.Items(ctx, fault.Datastore)
	if err != nil {
		return err
	}
	for _, d := range all {
		if d.VCenter == c.Target.VCenter && d.Name == name {
			return nil
		}
	}
	return fault.Refuse("datastore %q: vCenter %s has none of that name", name, c.Target.VCenter)
}

// target returns the volume of a call; known is false if CNS has no such volume.
func target(c *fault.Call) (ep *fault.Endpoint, v sim.Volume, known bool, err error) {
	if ep, err = vsphere.At(c); err != nil {
		return nil, v, false, err
	}
	v, known = ep.Sim.Volume(c.Target.ID)
	return ep, v, known, nil
}

// lost returns the refusal for a missing volume.
func lost(c *fault.Call) error {
	return fault.Refuse("volume %q: CNS has none of its id", c.Target.Name)
}
