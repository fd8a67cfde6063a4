package vm

import (
	"context"
	"errors"
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vms"
)

// replaced is the original and its replacement: its UUIDs, and its reference once it exists.
type replaced struct {
	Origin          origin  `json:"origin"`
	NewUUID         string  `json:"newUUID"`
	NewInstanceUUID string  `json:"newInstanceUUID"`
	New             vms.Ref `json:"new,omitzero"`
}

func recreate() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "vm.recreate", Object: fault.VM, Needs: []fault.Need{fault.Simulator}, Aspect: touchesPower, ReplacesTarget: true,
		Short: "destroys VMs and makes new ones of the same name, with other UUIDs",
		Long: "What an installer does with a broken node: the new VM has the name, place, size, networks, tags and guest of the old one, but it is another " +
			"machine. A cloud provider that remembers the old UUID has the new node deleted. The same happens on the way back: " +
			"healing destroys the new VM and makes the original again, but for its reference (vm-42). VMs with snapshots are refused.",
		Reported: []string{"cloud-provider-vsphere#397", "cloud-provider-vsphere#501"},
	}, fault.Steps[replaced]{
		Plan: func(ctx context.Context, c *fault.Call) (s replaced, does string, err error) {
			s.Origin, does, err = planGone("destroy and make again with another UUID")(ctx, c)
			s.NewUUID, s.NewInstanceUUID = vms.UUID(c.Rand), vms.UUID(c.Rand)
			return s, does, err
		},
		Apply: func(ctx context.Context, c *fault.Call, s *replaced) error {
			if err := away(ctx, c, c.Target.Ref, true); err != nil {
				return err
			}
			return s.Origin.bring(ctx, c, func(ctx context.Context, client *vim25.Client, ep *fault.Endpoint) (_ vms.Ref, err error) {
				s.New, err = s.Origin.make(ctx, c, client, ep, s.NewUUID, s.NewInstanceUUID)
				return s.New, err
			})
		},
		Revert: func(ctx context.Context, c *fault.Call, s *replaced) error {
			if err := s.find(ctx, c); err != nil {
				return err
			}
			if s.New != (vms.Ref{}) { // by reference: its name and UUID may have changed
				if err := away(ctx, c, s.New, false); err != nil && !vms.IsGone(err) {
					return err
				}
			}
			return s.Origin.again(ctx, c)
		},
	})
}

// find looks for a replacement whose reference is unknown, because an answer was lost.
func (s *replaced) find(ctx context.Context, c *fault.Call) error {
	if s.New != (vms.Ref{}) {
		return nil
	}
	ep, err := vms.Endpoint(c)
	if err != nil {
		return err
	}
	return ep.SOAP(ctx, func(ctx context.Context, client *vim25.Client) error {
		vm, err := s.Origin.here(ctx, client)
		if err == nil && vm != nil && vm.Config.Uuid == s.NewUUID {
			s.New = vm.Reference()
		}
		return err
	})
}

// origin is what the configuration file of a removed VM does not hold.
type origin struct {
	Ref          vms.Ref          `json:"ref"`
	Name         string           `json:"name"`
	Folder       vms.Ref          `json:"folder"`
	Pool         vms.Ref          `json:"pool"`
	Host         vms.Ref          `json:"host"`
	File         string           `json:"file"` // path of the configuration file
	UUID         string           `json:"uuid"`
	InstanceUUID string           `json:"instanceUUID"`
	GuestID      string           `json:"guestID"`
	Version      string           `json:"version"`
	Power        vms.PowerState   `json:"power"`
	Disks        []disk           `json:"disks,omitempty"`
	Tags         []string         `json:"tags,omitempty"` // IDs
	Values       map[int32]string `json:"values,omitempty"`
}

// disk is a virtual disk that belongs to the VM.
type disk struct {
	File string `json:"file"`
	KiB  int64  `json:"kib"`
}

// remember records a VM. It refuses VMs that would not come back as they were.
func remember(ctx context.Context, c *fault.Call, vm *vms.VM) (o origin, _ error) {
	switch {
	case vm.Snapshots:
		return o, fault.Refuse("vm %s: has snapshots, which would not come back", vm.Name)
	case vm.Parent == nil || vm.Parent.Type != "Folder" || vm.Pool == nil || vm.Runtime.Host == nil:
		return o, fault.Refuse("vm %s: is in a vApp or in no resource pool, where it could not come back", vm.Name)
	}
	o = origin{
		Ref: vm.Reference(), Name: vm.Name, Folder: *vm.Parent, Pool: *vm.Pool, Host: *vm.Runtime.Host, File: vm.Config.Files.VmPathName,
		UUID: vm.Config.Uuid, InstanceUUID: vm.Config.InstanceUuid, GuestID: vm.Config.GuestId, Version: vm.Config.Version,
		Power: vm.Runtime.PowerState, Values: make(map[int32]string),
	}
	for _, d := range vm.Config.Hardware.Device {
		if d, ok := d.(*types.VirtualDisk); ok && d.VDiskId == nil {
			if b, ok := d.Backing.(types.BaseVirtualDeviceFileBackingInfo); ok {
				o.Disks = append(o.Disks, disk{File: b.GetVirtualDeviceFileBackingInfo().FileName, KiB: d.CapacityInKB})
			}
		}
	}
	for _, v := range vm.Values {
		if v, ok := v.(*types.CustomFieldStringValue); ok {
			o.Values[v.Key] = v.Value
		}
	}
	ep, err := vms.Endpoint(c)
	if err != nil {
		return o, err
	}
	err = ep.REST(ctx, func(ctx context.Context, r *rest.Client) (err error) {
		o.Tags, err = tags.NewManager(r).ListAttachedTags(ctx, vm.Reference())
		slices.Sort(o.Tags)
		return err
	})
	return o, err
}

// here returns the VM with that name in the original place, or nil.
func (o *origin) here(ctx context.Context, client *vim25.Client) (*vms.VM, error) {
	found, err := object.NewSearchIndex(client).FindChild(ctx, o.Folder, o.Name)
	if err != nil || found == nil {
		return nil, err
	}
	vm, err := vms.Read(ctx, client, found.Reference())
	if vms.IsGone(err) {
		return nil, nil
	}
	return vm, err
}

// mark restores the VM's tags and permissions.
func (o *origin) mark(ctx context.Context, ep *fault.Endpoint, vm *vms.VM) error {
	if err := o.value(ctx, vm); err != nil {
		return err
	}
	return ep.REST(ctx, func(ctx context.Context, r *rest.Client) error {
		m := tags.NewManager(r)
		have, err := m.ListAttachedTags(ctx, vm.Reference())
		if err != nil {
			return err
		}
		for _, tag := range o.Tags {
			if slices.Contains(have, tag) {
				continue
			}
			if err := m.AttachTag(ctx, tag, vm.Reference()); err != nil {
				return err
			}
		}
		return nil
	})
}

// value restores the VM's custom attributes.
func (o *origin) value(ctx context.Context, vm *vms.VM) error {
	have := make(map[int32]string)
	for _, v := range vm.Values {
		if v, ok := v.(*types.CustomFieldStringValue); ok {
			have[v.Key] = v.Value
		}
	}
	for key, value := range o.Values {
		if have[key] == value {
			continue
		}
		m, err := object.GetCustomFieldsManager(vm.Client())
		if err != nil {
			return err
		}
		if err := m.Set(ctx, vm.Reference(), key, value); err != nil {
			return err
		}
	}
	return nil
}

func destroy() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "vm.destroy", Object: fault.VM, Needs: []fault.Need{fault.Simulator}, Aspect: touchesPower, ReplacesTarget: true,
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
func kept(c *fault.Call) string { return vms.LeaseName(c, c.Target.VCenter+" "+c.Target.Ref.Value) }

// away destroys a VM. The simulator remembers it if keep is set.
func away(ctx context.Context, c *fault.Call, ref vms.Ref, keep bool) error {
	return vms.At(ctx, c, ref, func(ctx context.Context, vm *vms.VM) error {
		if keep {
			ep, err := vms.Endpoint(c)
			if err != nil {
				return err
			}
			if err := ep.Sim.Guests().SaveVM(ref, kept(c)); err != nil {
				return err
			}
		}
		if err := vm.Power(ctx, vms.PoweredOff); err != nil {
			return err
		}
		return vms.LockFiles(ctx, c, func() error {
			t, err := vm.Destroy(ctx)
			return vms.WaitTask(ctx, t, err)
		})
	})
}

// again restores the original, and makes the simulator forget it.
func (o *origin) again(ctx context.Context, c *fault.Call) error {
	err := o.bring(ctx, c, func(ctx context.Context, client *vim25.Client, ep *fault.Endpoint) (vms.Ref, error) {
		return o.make(ctx, c, client, ep, o.UUID, o.InstanceUUID)
	})
	if err != nil {
		return err
	}
	ep, err := vms.Endpoint(c)
	if err != nil {
		return err
	}
	ep.Sim.Guests().DeleteSavedVM(kept(c))
	return nil
}

// make creates a VM, powered off, from what the simulator remembers, with these UUIDs.
func (o *origin) make(ctx context.Context, c *fault.Call, client *vim25.Client, ep *fault.Endpoint, uuid, instance string) (ref vms.Ref, _ error) {
	name := kept(c)
	if !ep.Sim.Guests().HasSavedVM(name) {
		return ref, fault.Refuse("vm %s: is gone and cannot be restored: vcenter %s was restarted since", o.Name, ep.Name)
	}
	spec, err := o.spec(uuid, instance)
	if err != nil {
		return ref, err
	}
	err = vms.LockFiles(ctx, c, func() error {
		t, err := object.NewFolder(client, o.Folder).CreateVM(ctx, spec, object.NewResourcePool(client, o.Pool), object.NewHostSystem(client, o.Host))
		if ref, err = vms.WaitResult(ctx, t, err); err != nil {
			return err
		}
		if err := ep.Sim.Guests().RestoreVM(ref, name, uuid, instance); err != nil {
			t, destroyed := object.NewVirtualMachine(client, ref).Destroy(ctx) // or it would be mistaken for the original
			return errors.Join(err, vms.WaitTask(ctx, t, destroyed))
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
		disk := devices.CreateDisk(scsi.(types.BaseVirtualController), vms.Ref{}, d.File)
		disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo).Datastore = nil
		disk.CapacityInKB, disk.CapacityInBytes = d.KiB, d.KiB<<10
		devices = append(devices, disk)
	}
	spec.DeviceChange, err = devices.ConfigSpec(types.VirtualDeviceConfigSpecOperationAdd)
	return spec, err
}
