package vm

import (
	"context"
	"errors"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/machine"
)

func destroy() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "vm.destroy", Object: fault.VM, Needs: []fault.Need{fault.Simulator}, Touches: touchesPower, Whole: true,
		Short: "powers VMs off and destroys them, with their disks",
		Long: "vCenter knows the VM no longer, and the cloud provider is right to have its node deleted. Volumes of CSI that were attached live on, detached. " +
			"Healing makes the VM again: same name, place, UUIDs, MAC addresses, networks, size, settings, tags, attributes and guest; " +
			"powered on if it was. Its reference (vm-42) is another one, and volumes stay detached. VMs with snapshots are refused.",
		Reported: []string{"cloud-provider-vsphere#359", "cloud-provider-vsphere#680"},
	}, fault.Steps[origin]{
		Plan:  planGone("destroy"),
		Apply: func(ctx context.Context, c *fault.Call, s *origin) error { return away(ctx, c, c.Target.Ref, true) },
		Revert: func(ctx context.Context, c *fault.Call, s *origin) error {
			return s.again(ctx, c)
		},
	})
}

// kept is the key under which the simulator remembers the VM.
func kept(c *fault.Call) string { return machine.Mark(c, c.Target.VCenter+" "+c.Target.Ref.Value) }

// away destroys a VM. The simulator remembers it if keep is set.
func away(ctx context.Context, c *fault.Call, ref machine.Ref, keep bool) error {
	return machine.At(ctx, c, ref, func(ctx context.Context, vm *machine.VM) error {
		if keep {
			ep, err := machine.Endpoint(c)
			if err != nil {
				return err
			}
			if err := ep.Sim.Guests().Keep(ref, kept(c)); err != nil {
				return err
			}
		}
		if err := vm.Power(ctx, machine.PoweredOff); err != nil {
			return err
		}
		return machine.Files(ctx, c, func() error {
			t, err := vm.Destroy(ctx)
			return machine.Done(ctx, t, err)
		})
	})
}

// again restores the original, and makes the simulator forget it.
func (o *origin) again(ctx context.Context, c *fault.Call) error {
	err := o.bring(ctx, c, func(ctx context.Context, client *vim25.Client, ep *fault.Endpoint) (machine.Ref, error) {
		return o.make(ctx, c, client, ep, o.UUID, o.InstanceUUID)
	})
	if err != nil {
		return err
	}
	ep, err := machine.Endpoint(c)
	if err != nil {
		return err
	}
	ep.Sim.Guests().Forget(kept(c))
	return nil
}

// make creates a VM, powered off, from what the simulator remembers, with these UUIDs.
func (o *origin) make(ctx context.Context, c *fault.Call, client *vim25.Client, ep *fault.Endpoint, uuid, instance string) (ref machine.Ref, _ error) {
	name := kept(c)
	if !ep.Sim.Guests().Kept(name) {
		return ref, fault.Refuse("vm %s: is gone and cannot be restored: vcenter %s was restarted since", o.Name, ep.Name)
	}
	spec, err := o.spec(uuid, instance)
	if err != nil {
		return ref, err
	}
	err = machine.Files(ctx, c, func() error {
		t, err := object.NewFolder(client, o.Folder).CreateVM(ctx, spec, object.NewResourcePool(client, o.Pool), object.NewHostSystem(client, o.Host))
		if ref, err = machine.Result(ctx, t, err); err != nil {
			return err
		}
		if err := ep.Sim.Guests().Resemble(ref, name, uuid, instance); err != nil {
			t, destroyed := object.NewVirtualMachine(client, ref).Destroy(ctx) // or it would be mistaken for the original
			return errors.Join(err, machine.Done(ctx, t, destroyed))
		}
		return nil
	})
	return ref, err
}

// spec returns a VM with the original's files.
func (o *origin) spec(uuid, instance string) (types.VirtualMachineConfigSpec, error) {
	spec := types.VirtualMachineConfigSpec{
		Name: o.Name, Uuid: uuid, InstanceUuid: instance, GuestId: o.GuestID, Version: o.Version,
		Files: &types.VirtualMachineFileInfo{VmPathName: o.File},
	}
	var devices object.VirtualDeviceList
	scsi, err := devices.CreateSCSIController("pvscsi")
	if err != nil {
		return spec, err
	}
	devices = append(devices, scsi)
	for _, d := range o.Disks {
		disk := devices.CreateDisk(scsi.(types.BaseVirtualController), machine.Ref{}, d.File)
		disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo).Datastore = nil
		disk.CapacityInKB, disk.CapacityInBytes = d.KiB, d.KiB<<10
		devices = append(devices, disk)
	}
	spec.DeviceChange, err = devices.ConfigSpec(types.VirtualDeviceConfigSpecOperationAdd)
	return spec, err
}
