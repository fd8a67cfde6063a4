package vm

import (
	"context"
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/machine"
)

// replaced is the original and its replacement: its UUIDs, and its reference once it exists.
type replaced struct {
	Origin          origin      `json:"origin"`
	NewUUID         string      `json:"newUUID"`
	NewInstanceUUID string      `json:"newInstanceUUID"`
	New             machine.Ref `json:"new,omitzero"`
}

func recreate() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "vm.recreate", Object: fault.VM, Needs: []fault.Need{fault.Simulator}, Touches: touchesPower, Whole: true,
		Short: "destroys VMs and makes new ones of the same name, with other UUIDs",
		Long: "What an installer does with a broken node: the new VM has the name, place, size, networks, tags and guest of the old one, but it is another " +
			"machine. A cloud provider that remembers the old UUID has the new node deleted. The same happens on the way back: " +
			"healing destroys the new VM and makes the original again, but for its reference (vm-42). VMs with snapshots are refused.",
		Reported: []string{"cloud-provider-vsphere#397", "cloud-provider-vsphere#501"},
	}, fault.Steps[replaced]{
		Plan: func(ctx context.Context, c *fault.Call) (s replaced, does string, err error) {
			s.Origin, does, err = planGone("destroy and make again with another UUID")(ctx, c)
			s.NewUUID, s.NewInstanceUUID = machine.UUID(c.Rand), machine.UUID(c.Rand)
			return s, does, err
		},
		Apply: func(ctx context.Context, c *fault.Call, s *replaced) error {
			if err := away(ctx, c, c.Target.Ref, true); err != nil {
				return err
			}
			return s.Origin.bring(ctx, c, func(ctx context.Context, client *vim25.Client, ep *fault.Endpoint) (_ machine.Ref, err error) {
				s.New, err = s.Origin.make(ctx, c, client, ep, s.NewUUID, s.NewInstanceUUID)
				return s.New, err
			})
		},
		Revert: func(ctx context.Context, c *fault.Call, s *replaced) error {
			if err := s.find(ctx, c); err != nil {
				return err
			}
			if s.New != (machine.Ref{}) { // by reference: its name and UUID may have changed
				if err := away(ctx, c, s.New, false); err != nil && !machine.Gone(err) {
					return err
				}
			}
			return s.Origin.again(ctx, c)
		},
	})
}

// find looks for a replacement whose reference is unknown, because an answer was lost.
func (s *replaced) find(ctx context.Context, c *fault.Call) error {
	if s.New != (machine.Ref{}) {
		return nil
	}
	ep, err := machine.Endpoint(c)
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
	Ref          machine.Ref        `json:"ref"`
	Name         string             `json:"name"`
	Folder       machine.Ref        `json:"folder"`
	Pool         machine.Ref        `json:"pool"`
	Host         machine.Ref        `json:"host"`
	File         string             `json:"file"` // path of the configuration file
	UUID         string             `json:"uuid"`
	InstanceUUID string             `json:"instanceUUID"`
	GuestID      string             `json:"guestID"`
	Version      string             `json:"version"`
	Power        machine.PowerState `json:"power"`
	Disks        []disk             `json:"disks,omitempty"`
	Tags         []string           `json:"tags,omitempty"` // IDs
	Values       map[int32]string   `json:"values,omitempty"`
}

// disk is a virtual disk that belongs to the VM.
type disk struct {
	File string `json:"file"`
	KiB  int64  `json:"kib"`
}

// remember records a VM. It refuses VMs that would not come back as they were.
func remember(ctx context.Context, c *fault.Call, vm *machine.VM) (o origin, _ error) {
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
	ep, err := machine.Endpoint(c)
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
func (o *origin) here(ctx context.Context, client *vim25.Client) (*machine.VM, error) {
	found, err := object.NewSearchIndex(client).FindChild(ctx, o.Folder, o.Name)
	if err != nil || found == nil {
		return nil, err
	}
	vm, err := machine.Read(ctx, client, found.Reference())
	if machine.Gone(err) {
		return nil, nil
	}
	return vm, err
}

// mark restores the VM's tags and permissions.
func (o *origin) mark(ctx context.Context, ep *fault.Endpoint, vm *machine.VM) error {
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
func (o *origin) value(ctx context.Context, vm *machine.VM) error {
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
