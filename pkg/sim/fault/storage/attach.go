package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	vimfault "github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vsphere"
)

func attachRefused() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "disk.attach-refused",
		Short: "refuses to attach disks to VMs",
		Long: `Attaching a volume or adding a disk ends in a fault: file-locked is a disk that another VM holds, no-free-slot a VM with all
its SCSI slots taken, invalid-state what vCenter says of nearly everything else. Disks that are attached stay.`,
		Object: fault.VM, Needs: []fault.Need{fault.Simulator}, Aspect: "disks",
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
			return ep.Sim.Hosts().RefuseDisks(ctx, c.Target.Ref, answer(c.Params.Text("answer")), nil)
		},
		Revert: func(ctx context.Context, c *fault.Call, _ *struct{}) error { return acceptDisks(ctx, c) },
	})
}

// answer returns the fault with which an attachment ends.
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

// acceptDisks lets the target's disks be changed again.
func acceptDisks(ctx context.Context, c *fault.Call) error {
	ep, err := vsphere.At(c)
	if err != nil {
		return err
	}
	var vm mo.VirtualMachine
	if err := vsphere.Get(ctx, ep, c.Target.Ref, &vm, "name"); vsphere.IsGone(err) {
		return nil
	} else if err != nil {
		return err
	}
	defer vsphere.Causing(c, ep, c.Target.Ref)()
	return ep.Sim.Hosts().RefuseDisks(ctx, c.Target.Ref, nil, nil)
}

// taken is a disk that was detached from a VM, with its full device.
type taken struct {
	Disk    disk            `json:"disk"`
	Backing json.RawMessage `json:"backing"`
}

func detached() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "disk.detached",
		Short: "detaches a disk from VMs behind Kubernetes' back",
		Long: `As an administrator does in vCenter: the file stays, Kubernetes takes the volume for attached, and nothing can be written any
more. Without the parameter it is the last disk; the first, which VMs boot from, is never taken.
Healing attaches the same file where it was.`,
		Object: fault.VM, Aspect: "disks",
		Params: []fault.Param{{Name: "disk", Short: `label ("Hard disk 2"), file or volume of the disk`, Type: fault.Text}},
	}, fault.Steps[taken]{Plan: planDetached, Apply: detach, Revert: reattach})
}

func planDetached(ctx context.Context, c *fault.Call) (t taken, does string, err error) {
	ep, err := vsphere.At(c)
	if err != nil {
		return t, "", err
	}
	vm, all, err := disksOf(ctx, ep, c.Target.Ref)
	if err != nil {
		return t, "", err
	}
	if s := vm.Runtime.ConnectionState; s != types.VirtualMachineConnectionStateConnected {
		return t, "", fault.Refuse("vm %q: is not connected, but %s", vm.Name, s)
	}
	disks := data(all)
	if len(disks) == 0 {
		return t, "", fault.Refuse("vm %q: has no disk but the one that it boots from", vm.Name)
	}
	i := len(disks) - 1
	if name := c.Params.Text("disk"); name != "" {
		if i = slices.IndexFunc(disks, func(d disk) bool { return name == d.Label || name == d.File || name == d.Volume }); i < 0 {
			return t, "", fault.Refuse("vm %q: has no disk %q that it does not boot from", vm.Name, name)
		}
	}
	t.Disk = disks[i]
	flat, ok := t.Disk.device.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
	if !ok {
		return t, "", fault.Refuse("vm %q: disk %q is not a plain file (%T)", vm.Name, t.Disk.Label, t.Disk.device.Backing)
	}
	t.Backing, err = json.Marshal(flat)
	return t, fmt.Sprintf("detach %s (%s)", t.Disk.Label, t.Disk.File), err
}

// find returns the disk in a VM that has it.
func (t *taken) find(disks []disk) *types.VirtualDisk {
	for _, d := range disks {
		if d.File == t.Disk.File {
			return d.device
		}
	}
	return nil
}

func detach(ctx context.Context, c *fault.Call, t *taken) error {
	ep, err := vsphere.At(c)
	if err != nil {
		return err
	}
	_, disks, err := disksOf(ctx, ep, c.Target.Ref)
	if err != nil {
		return err
	}
	d := t.find(disks)
	if d == nil {
		return fmt.Errorf("disk %s: is not attached any more", t.Disk.File)
	}
	if err := reconfigure(ctx, c, ep, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationRemove, Device: d}); err != nil {
		return err
	}
	c.Note("disk.detached", event.Warning, "%s (%s) was detached", t.Disk.Label, t.Disk.File)
	return nil
}

func reattach(ctx context.Context, c *fault.Call, t *taken) error {
	ep, err := vsphere.At(c)
	if err != nil {
		return err
	}
	_, disks, err := disksOf(ctx, ep, c.Target.Ref)
	if vsphere.IsGone(err) {
		return nil
	} else if err != nil {
		return err
	}
	if t.find(disks) != nil {
		return nil
	}
	backing := new(types.VirtualDiskFlatVer2BackingInfo)
	if err := json.Unmarshal(t.Backing, backing); err != nil {
		return err
	}
	d := &types.VirtualDisk{CapacityInKB: t.Disk.Capacity, CapacityInBytes: t.Disk.Capacity << 10}
	d.Key, d.ControllerKey, d.UnitNumber, d.Backing = t.Disk.Key, t.Disk.Bus, t.Disk.Unit, backing
	if t.Disk.Volume != "" {
		d.VDiskId = &types.ID{Id: t.Disk.Volume}
	}
	err = reconfigure(ctx, c, ep, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: d})
	if vsphere.IsGone(err) {
		return nil
	}
	return err
}

// reconfigure changes a device of the target, and leaves files alone.
func reconfigure(ctx context.Context, c *fault.Call, ep *fault.Endpoint, change types.BaseVirtualDeviceConfigSpec) error {
	defer vsphere.Causing(c, ep, c.Target.Ref)()
	return vsphere.Run(ctx, ep, func(ctx context.Context, vc *vim25.Client) (*object.Task, error) {
		return object.NewVirtualMachine(vc, c.Target.Ref).Reconfigure(ctx, types.VirtualMachineConfigSpec{
			DeviceChange: []types.BaseVirtualDeviceConfigSpec{change},
		})
	})
}

func leftOnDeadVM() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "disk.left-on-dead-vm",
		Short: "powers VMs off and leaves their disks locked to them",
		Long: `Detaching a volume or removing a disk ends in InvalidState, and so its pods cannot start elsewhere: what is left of a node
that died in the midst of something. Healing lets go of the disks and powers the VM on.`,
		Object: fault.VM, Needs: []fault.Need{fault.Simulator}, Aspect: "power",
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
			if err := ep.Sim.Hosts().RefuseDisks(ctx, c.Target.Ref, new(types.FileLocked), new(types.InvalidState)); err != nil {
				return err
			}
			err = vsphere.Run(ctx, ep, func(ctx context.Context, vc *vim25.Client) (*object.Task, error) {
				return object.NewVirtualMachine(vc, c.Target.Ref).PowerOff(ctx)
			})
			if vimfault.Is(err, new(types.InvalidPowerState)) {
				return nil // detached by another client
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
			if err := vsphere.Get(ctx, ep, c.Target.Ref, &vm, "runtime"); vsphere.IsGone(err) {
				return nil
			} else if err != nil {
				return err
			}
			if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff {
				return nil
			}
			if err := vsphere.PowerOn(ctx, c, ep, c.Target.Ref); err != nil && !vsphere.IsGone(err) {
				return err
			}
			return nil
		},
	})
}

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
		Object: fault.VCenter, Needs: []fault.Need{fault.Simulator}, Aspect: "tasks",
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
