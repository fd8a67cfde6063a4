package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vsphere"
)

// taken is a disk that was taken from a VM, with all that vCenter said of it.
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
		Object: fault.VM, Touches: "disks",
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

// find looks for the disk in a VM that has it.
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
	if vsphere.Gone(err) {
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
	if vsphere.Gone(err) {
		return nil
	}
	return err
}

// reconfigure changes a device of the target. Files are left alone.
func reconfigure(ctx context.Context, c *fault.Call, ep *fault.Endpoint, change types.BaseVirtualDeviceConfigSpec) error {
	defer vsphere.Causing(c, ep, c.Target.Ref)()
	return vsphere.Run(ctx, ep, func(ctx context.Context, vc *vim25.Client) (*object.Task, error) {
		return object.NewVirtualMachine(vc, c.Target.Ref).Reconfigure(ctx, types.VirtualMachineConfigSpec{
			DeviceChange: []types.BaseVirtualDeviceConfigSpec{change},
		})
	})
}
