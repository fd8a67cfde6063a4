package storage

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vsphere"
)

// disk is a disk of a VM, with all that is needed to attach it again.
type disk struct {
	Label    string `json:"label"`
	File     string `json:"file"`
	Volume   string `json:"volume,omitempty"` // its identifier as a first-class disk
	UUID     string `json:"uuid,omitempty"`
	Key      int32  `json:"key"`
	Bus      int32  `json:"controllerKey"`
	Unit     *int32 `json:"unitNumber,omitempty"`
	Capacity int64  `json:"capacityInKB"`

	device *types.VirtualDisk
}

// disksOf reads a VM and its disks, in the order of the VM: the first is the boot disk.
func disksOf(ctx context.Context, ep *fault.Endpoint, ref vsphere.Ref) (vm mo.VirtualMachine, disks []disk, err error) {
	if err := vsphere.Get(ctx, ep, ref, &vm, "name", "runtime", "config.hardware.device"); err != nil {
		return vm, nil, err
	}
	if vm.Config == nil {
		return vm, nil, nil
	}
	for _, d := range vm.Config.Hardware.Device {
		v, ok := d.(*types.VirtualDisk)
		if !ok {
			continue
		}
		is := disk{Key: v.Key, Bus: v.ControllerKey, Unit: v.UnitNumber, Capacity: v.CapacityInKB, device: v}
		if info := v.DeviceInfo; info != nil {
			is.Label = info.GetDescription().Label
		}
		if b, ok := v.Backing.(types.BaseVirtualDeviceFileBackingInfo); ok {
			is.File = b.GetVirtualDeviceFileBackingInfo().FileName
		}
		if b, ok := v.Backing.(*types.VirtualDiskFlatVer2BackingInfo); ok {
			is.UUID = b.Uuid
		}
		if v.VDiskId != nil {
			is.Volume = v.VDiskId.Id
		}
		disks = append(disks, is)
	}
	return vm, disks, nil
}

// accepts refuses a VM with disks that another lease locks: the first one to heal would end both.
func accepts(c *fault.Call, ep *fault.Endpoint) error {
	if attach, detach := ep.Sim.Hosts().DisksRefused(c.Target.Ref); attach != nil || detach != nil {
		return fault.Refuse("vm %q: changes of its disks are refused already", c.Target.Name)
	}
	return nil
}

// data returns the disks other than the boot disk.
func data(disks []disk) []disk {
	if len(disks) < 2 {
		return nil
	}
	return slices.Clone(disks[1:])
}

func slowTasks() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "tasks.slow",
		Short: "makes the tasks of vCenters take longer",
		Long: `Every task that a call starts (power, creation, attachment, moves) reports its end late. Calls are answered as
fast as ever; see vcenter.latency for slow ones. Healing ends the tasks that wait.`,
		Object: fault.VCenter, Needs: []fault.Need{fault.Simulator}, Touches: "tasks",
		Params:   []fault.Param{{Name: "by", Short: "how much longer", Type: fault.Duration, Default: "10s"}},
		Reported: []string{"vsphere-csi-driver#284"},
	}, fault.Steps[time.Duration]{
		Plan: func(_ context.Context, c *fault.Call) (time.Duration, string, error) {
			ep, err := vsphere.At(c)
			if err != nil {
				return 0, "", err
			}
			by := c.Params.Duration("by")
			if by <= 0 {
				return 0, "", &fault.Refusal{Code: "invalid", Message: "parameter by: must be more than no time"}
			}
			was := ep.Sim.SlowTasks()
			return was, fmt.Sprintf("tasks take %s longer", by), nil
		},
		Apply: func(_ context.Context, c *fault.Call, _ *time.Duration) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			by := c.Params.Duration("by")
			ep.Sim.SetSlowTasks(by)
			c.Note("vcenter.tasks-slow", event.Warning, "tasks take %s longer", by)
			return nil
		},
		Revert: func(_ context.Context, c *fault.Call, was *time.Duration) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			ep.Sim.SetSlowTasks(*was)
			return nil
		},
	})
}
